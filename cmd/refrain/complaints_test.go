package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneReasonIsCounted: a column that is wrong on every line prints ten lines, and how many more there are; another
// reason between them is seen.
func TestOneReasonIsCounted(t *testing.T) {
	var posts strings.Builder
	posts.WriteString("id;text;created_at\n")
	for i := range 2000 {
		if i == 1500 {
			posts.WriteString("another;reason\n")
		}
		fmt.Fprintf(&posts, "%d;text;01.11.2015 00:%02d\n", i, i%60)
	}
	run := func(args ...string) string {
		var out, stderr bytes.Buffer
		m := Main{Stdin: strings.NewReader(posts.String()), Stdout: &out, Stderr: &stderr}
		m.Run(t.Context(), append([]string{"detect", "--format", "csv"}, args...))
		return stderr.String()
	}
	got := run()
	if n := strings.Count(got, "a time in no known form"); n != maxAlike+1 {
		t.Errorf("one reason is printed %d times:\n%s", n, got)
	}
	for _, want := range []string{
		"refrain: stdin: read as a table with semicolons between its columns", "stdin:1502: 2 fields, and the header has 3\n",
		`and 1,990 more like stdin:2: created_at: "01.11.2015 00:00": a time in no known form`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	letters := filepath.Join(t.TempDir(), "letters.jsonl")
	run("--dead-letters", letters)
	if all, err := os.ReadFile(letters); bytes.Count(all, []byte("\n")) != 2001 || !bytes.HasPrefix(all, []byte(`{"place":"stdin:2","reason":"created_at`)) {
		t.Errorf("%v, dead letters %.300s", err, all)
	}
	if got := run("--tz", "Europe/Berlin", "--time-format", "%d.%m.%Y %H:%M"); !strings.Contains(got, "2000 posts in ") {
		t.Errorf("with a layout:\n%s", got)
	}
	for want, args := range map[string][]string{
		"--tz: \"Berlin\": want a name of the IANA database":        {"--tz", "Berlin"},
		"--time-format: \"%d.%m.%Y\" has no offset from UTC":        {"--time-format", "%d.%m.%Y"},
		"--encoding \"klingon\": want a name as of the web":         {"--encoding", "klingon"},
		"--map: field map \"text=a b\": \"a b\": a space in a name": {"--map", "text=a b"},
	} {
		if got := run(args...); !strings.Contains(got, want) {
			t.Errorf("%v: %s, want %q", args, got, want)
		}
	}
}

// TestReasonsAreClean: what a post brings along, as the name of a field, moves no cursor of the terminal that shows the reason.
func TestReasonsAreClean(t *testing.T) {
	for name, post := range map[string]string{
		"a name given twice": `{"id":"1","text":"a","\u001b[2Jx":1,"\u001b[2Jx":2}`,
		"a C1 control":       `{"id":"1","text":"a","\u009b2Jx":1,"\u009b2Jx":2}`,
	} {
		for _, args := range [][]string{{"detect"}, {"detect", "--strict"}, {"sentences"}, {"inspect", "-"}} {
			var out, stderr bytes.Buffer
			m := Main{Stdin: strings.NewReader(post + "\n"), Stdout: &out, Stderr: &stderr}
			m.Run(t.Context(), args)
			if got := stderr.String(); !strings.Contains(got, "given twice") || strings.ContainsAny(got, "\u001b\u009b") {
				t.Errorf("%s, %v: %q", name, args, got)
			}
		}
	}
}

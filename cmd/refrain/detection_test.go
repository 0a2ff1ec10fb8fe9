package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"refrain/internal/e2e"
)

// runDetect runs detect on posts from stdin, one a batch, so that order and endings cross many parts.
func runDetect(t *testing.T, in io.Reader, out io.Writer, args ...string) (stderr string, status int) {
	t.Helper()
	var diagnostics bytes.Buffer
	m := Main{Stdin: in, Stdout: out, Stderr: &diagnostics}
	status = m.Run(t.Context(), append([]string{"detect", "--batch", "1"}, args...))
	return diagnostics.String(), status
}

// wordy is a post that repeats the one before it.
func wordy(i int) string {
	return fmt.Sprintf(`{"id":"p%02d","text":"the very same words stand here again"}`+"\n", i)
}

// TestDetectStrict: what stands before the first mistake counts, what stands behind it does not, however far the
// reading has got.
func TestDetectStrict(t *testing.T) {
	var posts strings.Builder
	for i := range 100 {
		if i == 50 || i == 60 {
			posts.WriteString("no post\n")
		}
		posts.WriteString(wordy(i))
	}
	var out bytes.Buffer
	stderr, status := runDetect(t, strings.NewReader(posts.String()), &out, "--strict")
	if status != exitFailure || !strings.Contains(stderr, "stdin:51: want a JSON object") ||
		strings.Contains(stderr, "stdin:62") {
		t.Errorf("status %d, and on stderr: %s", status, stderr)
	}
	if n := strings.Count(out.String(), "\n"); n != 49 {
		t.Errorf("%d events, want one for each of 50 posts but the first", n)
	}
}

// TestDetectTimesOfUntimedPosts: a post without a time has that of the posts before it, whichever goroutine
// decodes them.
func TestDetectTimesOfUntimedPosts(t *testing.T) {
	var posts strings.Builder
	const n = 500
	for i := range n {
		fmt.Fprintf(&posts, `{"id":"t%d","created_at":%d,"text":"short"}`+"\n%s", i, 1e9+60*i, wordy(i))
	}
	var out bytes.Buffer
	if stderr, status := runDetect(t, strings.NewReader(posts.String()), &out, "--span", "90s"); status != 0 {
		t.Fatal(stderr)
	}
	// Within 90 s of each lies only the one a minute before it: with the times of others there would be more or fewer.
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != n-1 {
		t.Fatalf("%d events, want %d", len(lines), n-1)
	}
	for i, line := range lines {
		later, earlier := fmt.Sprintf(`"later":{"source":"","post":"p%02d"`, i+1),
			fmt.Sprintf(`"earlier":{"source":"","post":"p%02d"`, i)
		if !strings.Contains(line, later) || !strings.Contains(line, earlier) {
			t.Fatalf("event %d is not %s with %s: %s", i, later, earlier, line)
		}
	}
}

// TestDetectKeepAndLink: events have the Meta fields, and links; a template that cannot work is wrong usage.
func TestDetectKeepAndLink(t *testing.T) {
	const posts = `{"id":"1","text":"the very same words stand here again","followers":1}` + "\n" +
		`{"id":"2","author":"a/b","text":"the very same words stand here again","followers":12,"other":1}` + "\n"
	for args, want := range map[string]string{
		"":                 `"text":"the very same words stand here again","group":"`,
		"--keep followers": `,"meta":{"followers":12}},"earlier":`,
		"--keep followers,no --link https://example.org/{author}/{id}?n={followers}": `,"link":"https://example.org/a%2Fb/2?n=12",` +
			`"meta":{"followers":12}},"earlier":`,
	} {
		var out bytes.Buffer
		stderr, status := runDetect(t, strings.NewReader(posts), &out, strings.Fields(args)...)
		if status != 0 || !strings.Contains(out.String(), want) || strings.Contains(out.String(), "other") {
			t.Errorf("%q: status %d, %s, got %s, want %s", args, status, stderr, &out, want)
		}
	}
	for args, want := range map[string]string{
		"--keep text":                       "--keep: text is the post's text",
		"--link https://example.org/{none}": "--link: {none} is neither",
		"--link ftp://example.org/{id}":     "--link: ",
	} {
		stderr, status := runDetect(t, strings.NewReader(posts), io.Discard, strings.Fields(args)...)
		if status != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%q: status %d, %s, want %s", args, status, stderr, want)
		}
	}
}

// TestWrongUsage: what cannot be meant is named, and not taken for the default.
func TestWrongUsage(t *testing.T) {
	for args, want := range map[string]string{
		"detect --top -1":                     "--top -1: want 0 or more",
		"detect --min-authors -1":             "--min-authors -1: want 0 or more",
		"detect --output xlsx":                `--output "xlsx": want jsonl, csv, tsv, table`,
		"detect --json --output csv":          "--json and --output csv: want one of them",
		"detect --group abc":                  `--group "abc": want 8 to 32 of the digits`,
		"detect --group 0123abcd --top 3":     "--top and --group: want one of them",
		"detect --budget 0.5":                 `size "0.5"`,
		"detect --measure overlap":            "--measure overlap: it is for joins",
		"detect --measure hamming":            `--measure "hamming": want jaccard, cosine or dice`,
		"demo --measure overlap":              "--measure overlap: it is for joins",
		"demo --measure cosine --threshold 2": `--threshold: threshold "2": want more than 0 and at most 1`,
		"explain --measure overlap a b":       "--measure overlap: it is for joins",
		"demo --rate 1e9":                     "--rate wants more than 0 and at most 1000000",
		"demo --rate NaN":                     "--rate wants more than 0",
		"demo --duration -1s":                 `--duration "-1s": want something like 30s`,
		"serve --http 8080":                   `"8080": want HOST:PORT, such as 127.0.0.1:8080`,
		"match --server localhost:8080 words": `--server "localhost:8080": want http:// or https:// and a host`,
	} {
		var out, stderr bytes.Buffer
		m := Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &stderr}
		if status := m.Run(t.Context(), strings.Fields(args)); status != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: status %d, got %q, want %q in it", args, status, &stderr, want)
		}
	}
}

// brokenPipe takes some bytes and then no more.
type brokenPipe struct{ left int }

var errBroken = errors.New("nobody reads this")

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

// TestDetectEndsWhenNobodyReads: an error behind the detector ends what is before it, though the input never does.
func TestDetectEndsWhenNobodyReads(t *testing.T) {
	in, feed := io.Pipe()
	go func() {
		for i := 0; ; i++ {
			if _, err := io.WriteString(feed, wordy(i)); err != nil {
				return
			}
		}
	}()
	defer in.Close()
	if stderr, status := runDetect(t, in, &brokenPipe{100_000}); status != exitFailure ||
		!strings.Contains(stderr, errBroken.Error()) {
		t.Errorf("status %d, and on stderr: %s", status, stderr)
	}
}

// TestDetectInterrupted: what was found goes all the way, though the input goes on and nothing comes on it.
func TestDetectInterrupted(t *testing.T) {
	const posts = 20
	in, feed := io.Pipe()
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for i := range posts {
			_, _ = io.WriteString(feed, wordy(i))
		}
	}()
	out := &lineCounter{at: posts - 1, then: interrupt}
	var diagnostics bytes.Buffer
	m := Main{Stdin: in, Stdout: out, Stderr: &diagnostics}
	status := m.Run(ctx, []string{"detect", "--batch", "1"})
	if status != exitFailure || !strings.Contains(diagnostics.String(), errInterrupted.Error()) || out.lines < posts-1 {
		t.Errorf("status %d, %d events, and on stderr: %s", status, out.lines, diagnostics.String())
	}
}

// lineCounter does something when so many lines have been written to it.
type lineCounter struct {
	lines, at int
	then      func()
}

func (c *lineCounter) Write(p []byte) (int, error) {
	before := c.lines
	c.lines += bytes.Count(p, []byte("\n"))
	if before < c.at && c.lines >= c.at {
		c.then()
	}
	return len(p), nil
}

// TestSmallBudgets: 32 is understood as it is written, and nobody means it. The error names where it stands.
func TestSmallBudgets(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1)) // detect sets one for the process
	for _, args := range [][]string{{"detect", "--budget", "32"}, {"serve", "--budget", "32", "--data", t.TempDir()}} {
		var out, stderr bytes.Buffer
		m := Main{Stdin: strings.NewReader(wordy(1)), Stdout: &out, Stderr: &stderr}
		status := m.Run(t.Context(), args)
		want := `--budget "32" is 32 bytes: want 1.0 MB or more, and megabytes are written 32MB; 0 is `
		if status != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: status %d, got %q, want %q in it", args[0], status, &stderr, want)
		}
	}
	for _, budget := range []string{"0", "1MB", "32MB"} {
		if stderr, status := runDetect(t, strings.NewReader(wordy(1)), io.Discard, "--budget", budget); status != 0 {
			t.Errorf("--budget %s: %s", budget, stderr)
		}
	}
}

// TestDetectBudget: the summary says how far back the window reached at the end, whether that is all of the span or not.
func TestDetectBudget(t *testing.T) {
	skipShort(t)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	var posts strings.Builder
	for i := range 8000 { // some 2 MB in the window
		fmt.Fprintf(&posts, `{"id":"%d","created_at":%d,"text":"alpha%d beta%d gamma%d delta%d"}`+"\n", i, 1_000_000_000+i,
			i, i, i, i)
	}
	stderr, _ := runDetect(t, strings.NewReader(posts.String()), io.Discard, "--budget", "1MB", "--span", "10h",
		"--batch", "500")
	if !strings.Contains(stderr, "texts before their time: the window reached back only ") ||
		strings.Contains(stderr, "again at the end") {
		t.Errorf("at its limit: %s", stderr)
	}
	for i := range 200 { // ten days in which little happens
		fmt.Fprintf(&posts, `{"id":"later%d","created_at":%d,"text":"little more to say today"}`+"\n", i, 1_000_000_000+(i+1)*4320)
	}
	stderr, _ = runDetect(t, strings.NewReader(posts.String()), io.Discard, "--budget", "1MB", "--span", "10h",
		"--batch", "500")
	if !strings.Contains(stderr,
		"texts before their time: though the window held its whole span of 10h0m0s again at the end") ||
		strings.Contains(stderr, "reached back only") {
		t.Errorf("with room again: %s", stderr)
	}
}

// TestUnpackingCounts: what unpacking takes is the window's no more, and a large part of the budget is told.
func TestUnpackingCounts(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for _, c := range []struct {
		budget, input, want int64
		warning             string
	}{
		{0, 64 << 20, 0, ""},
		{100e6, 9e6, 91e6, ""},
		{100e6, 60e6, 40e6, "unpacking the file takes 60.0 MB, the budget is 100.0 MB: the window may hold 40.0 MB"},
		{64e6, 268e6, 8e6, "the window may hold 8.0 MB"},
	} {
		var stderr bytes.Buffer
		m := Main{Stderr: &stderr}
		got := m.limitMemory(c.budget, c.input)
		if got != c.want || !strings.Contains(stderr.String(), c.warning) || (stderr.Len() > 0) != (c.warning != "") {
			t.Errorf("budget %d, input %d: got %d, want %d; told %q, want %q", c.budget, c.input, got, c.want, &stderr, c.warning)
		}
	}
}

// TestWhatStandsBeforeDamageIsDetected: a file that breaks off, and a malformed line under --strict, end the run with
// an error, after the events of everything before.
func TestWhatStandsBeforeDamageIsDetected(t *testing.T) {
	posts := e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", 6000)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(posts); err != nil {
		t.Fatal(err)
	}
	if err := z.Flush(); err != nil { // and never closed
		t.Fatal(err)
	}
	want := e2e.Detect(t, posts, e2e.DefaultSettings(), nil)
	for name, c := range map[string]struct {
		input []byte
		args  []string
	}{
		"cut short": {packed.Bytes(), []string{"detect", "-"}},
		"strict":    {append(slices.Clone(posts), "bad\n"...), []string{"detect", "--strict", "-"}},
	} {
		var out, stderr bytes.Buffer
		m := Main{Stdin: bytes.NewReader(c.input), Stdout: &out, Stderr: &stderr}
		if status := m.Run(context.Background(), c.args); status != 1 {
			t.Errorf("%s: status %d: %s", name, status, stderr.String())
		}
		if n := bytes.Count(out.Bytes(), []byte("\n")); n != len(want) {
			t.Errorf("%s: %d events, want %d: %s", name, n, len(want), stderr.String())
		}
	}
}

// full takes some bytes and then no more, as a disk that fills up does.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

// TestDetectFullDisk: what cannot be written is said once, and counts neither as written nor as left out as asked for.
func TestDetectFullDisk(t *testing.T) {
	var posts strings.Builder
	for i := range 2000 {
		posts.WriteString(wordy(i))
	}
	for _, c := range []struct {
		args string
		room int
	}{
		{"--output jsonl", 0}, {"--output jsonl", 100_000}, {"--output csv", 0}, {"--output csv", 100_000},
		{"--output tsv", 100_000}, {"--output table", 100_000}, {"--top 3", 0},
	} {
		stderr, status := runDetect(t, strings.NewReader(posts.String()), &full{c.room}, strings.Fields(c.args)...)
		if status != exitFailure || strings.Count(stderr, syscall.ENOSPC.Error()) != 1 || strings.Contains(stderr, "left out") {
			t.Errorf("%s, room for %d bytes: status %d, and on stderr: %s", c.args, c.room, status, stderr)
		}
	}
}

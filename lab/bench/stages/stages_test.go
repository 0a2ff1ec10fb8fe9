package stages

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mustMeasure runs the route on n posts with the text that each is given.
func mustMeasure(t *testing.T, n int, text func(i int) string) (table Table, out []byte) {
	t.Helper()
	var posts strings.Builder
	for i := range n {
		fmt.Fprintf(&posts, `{"id":"%d","created_at":%d,"text":%q}`+"\n", i, 1e9+i, text(i))
	}
	path := filepath.Join(t.TempDir(), "posts.jsonl")
	if err := os.WriteFile(path, []byte(posts.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	cfg := Default()
	cfg.Path, cfg.Out = path, &b
	table, err := Measure(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return table, b.Bytes()
}

// TestMeasure runs the route on posts that repeat each other: the stages are those of detect, and each is paid.
func TestMeasure(t *testing.T) {
	const n = 2500
	table, out := mustMeasure(t, n, func(int) string { return "the very same words stand here again. Short one." })
	if table.Posts != n || table.Sentences != n || table.Events != n-1 || bytes.Count(out, []byte("\n")) != n-1 {
		t.Errorf("%d posts, %d sentences, %d events; want %d, %d, %d", table.Posts, table.Sentences, table.Events, n, n, n-1)
	}
	for _, s := range table.Stages {
		if s.CPU <= 0 {
			t.Errorf("%s took no time", s.Name)
		}
	}
	var shown strings.Builder
	if err := table.Write(&shown); err != nil || strings.Count(shown.String(), "\n") != 5+len(table.Stages) {
		t.Errorf("%v:\n%s", err, shown.String())
	}
}

// TestManyMatches: variants of one text match by the square of their number; all events are counted and written, though
// most leave before the end of their part.
func TestManyMatches(t *testing.T) {
	const n = 200
	table, out := mustMeasure(t, n, func(i int) string {
		return fmt.Sprintf("one two three four five six seven eight nine ten eleven w%d", i)
	})
	const want = n * (n - 1) / 2
	if lines := bytes.Count(out, []byte("\n")); table.Events != want || lines != want || table.EventBytes != int64(len(out)) {
		t.Errorf("%d events, %d lines, %d bytes of %d; want %d", table.Events, lines, table.EventBytes, len(out), want)
	}
	for _, s := range table.Stages {
		if s.CPU <= 0 {
			t.Errorf("%s took %v", s.Name, s.CPU)
		}
	}
}

package stages

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"refrain/detector"
	"refrain/hashcodes"
	"refrain/text"
)

// TestMeasure runs the route on posts that repeat each other: the stages are those of detect, and each is paid.
func TestMeasure(t *testing.T) {
	const n = 2500
	var posts strings.Builder
	for i := range n {
		fmt.Fprintf(&posts, `{"id":"%d","created_at":%d,"text":"the very same words stand here again. Short one."}`+"\n", i, 1e9+i)
	}
	path := filepath.Join(t.TempDir(), "posts.jsonl")
	if err := os.WriteFile(path, []byte(posts.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	model, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	table, err := Measure(t.Context(), Config{Path: path, Out: &out,
		Window: detector.Config{Threshold: text.Threshold{Num: 4, Den: 5}, Span: time.Hour, Lateness: time.Minute, Model: model}})
	if err != nil {
		t.Fatal(err)
	}
	if table.Posts != n || table.Sentences != n || table.Events != n-1 || bytes.Count(out.Bytes(), []byte("\n")) != n-1 {
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

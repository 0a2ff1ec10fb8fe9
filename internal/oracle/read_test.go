package oracle

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"refrain/feed"
)

const lines = `{"id":"a","text":"one","created_at":"2012-02-02T00:35:00Z","author":"x","lang":"en","kind":"post"}
{"id":12.50,"text":"two","created_at":"Thu Feb 02 00:34:00 +0000 2012","source":"s"}
not json

{"id":"c","text":"three"}
{"id":"d","text":"four","created_at":1328142960}
{"id":"e","text":"five","created_at":"1328143020500"}
{"id":"","text":"no id"}
{"id":"f"}
{"id":"g","text":"no time","created_at":"yesterday"}
{"id":"h","text":"","created_at":null}
`

func at(minutes int) feed.Time { return feed.Time(1328142900000 + 60000*minutes) }

var posts = []feed.Post{
	{ID: "a", Author: "x", Lang: "en", Text: "one", Time: at(0), Timed: true},
	{ID: "12.50", Source: "s", Text: "two", Time: at(-1), Timed: true},
	{ID: "c", Text: "three", Time: at(0)},
	{ID: "d", Text: "four", Time: at(1), Timed: true},
	{ID: "e", Text: "five", Time: at(2) + 500, Timed: true},
	{ID: "h", Time: at(2) + 500},
}

func TestPosts(t *testing.T) {
	var got []feed.Post
	var errs []string
	for p, err := range Posts(strings.NewReader(lines), 0) {
		if err != nil {
			errs = append(errs, err.Error()[:len("line 00")])
			continue
		}
		got = append(got, p)
	}
	if diff := cmp.Diff(posts, got); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
	want := []string{"line 3:", "line 8:", "line 9:", "line 10"}
	if diff := cmp.Diff(want, errs); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestOpenDecompresses(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.jsonl", "a.jsonl.gz", "a.jsonl.zst"} {
		path := filepath.Join(dir, name)
		write(t, path)
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range Posts(r, 3) {
			n++
		}
		if n != 4 { // three posts and one line that is none
			t.Errorf("%s: got %d, want 4", name, n)
		}
		if err := r.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	switch filepath.Ext(path) {
	case ".gz":
		z := gzip.NewWriter(file)
		defer z.Close()
		_, err = z.Write([]byte(lines))
	case ".zst":
		z, _ := zstd.NewWriter(file)
		defer z.Close()
		_, err = z.Write([]byte(lines))
	default:
		_, err = file.WriteString(lines)
	}
	if err != nil {
		t.Fatal(err)
	}
}

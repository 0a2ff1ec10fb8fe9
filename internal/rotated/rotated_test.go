package rotated_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"refrain/internal/rotated"
)

// TestRotates: the last files are kept, a line is in one of them, and what goes is counted.
func TestRotates(t *testing.T) {
	for _, old := range []int{0, 1, 2} {
		t.Run(fmt.Sprint(old, " old"), func(t *testing.T) { testRotates(t, old) })
	}
}

func testRotates(t *testing.T, old int) {
	path, dropped := filepath.Join(t.TempDir(), "letters.jsonl"), 0
	open := func() *rotated.File {
		l, err := rotated.Open(rotated.Config{Path: path, MaxBytes: 100, Old: old, Dropped: func(lines int) { dropped += lines }})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	for i := range 40 {
		if i == 15 { // goes on with the file
			mustClose(t, l)
			l = open()
		}
		if _, err := l.Write([]byte(strings.Repeat(string(rune('A'+i)), 29) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, l)
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) != old+1 {
		t.Fatalf("files %v, %v", files, err)
	}
	all := ""
	for i := old; i >= 0; i-- {
		f := path + strings.Repeat(fmt.Sprint(".", i), min(i, 1))
		b, err := os.ReadFile(f)
		if err != nil || len(b) > 100 || len(b) == 0 {
			t.Errorf("%s: %d bytes, %v", f, len(b), err)
		}
		all += string(b)
	}
	left := 1 + 3*old // three lines a file, one in the last
	if want := "ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefgh"[40-left:]; initials(all) != want || dropped != 40-left {
		t.Errorf("kept %s, want %s; %d dropped", initials(all), want, dropped)
	}
}

// TestLongLine: one that is longer than a file may be has one of its own.
func TestLongLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letters.jsonl")
	l, err := rotated.Open(rotated.Config{Path: path, MaxBytes: 10, Old: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"a\n", strings.Repeat("b", 50) + "\n", "c\n"} {
		if _, err := l.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, l)
	for name, want := range map[string]int{path: 2, path + ".1": 51, path + ".2": 2} {
		if b, err := os.ReadFile(name); err != nil || len(b) != want {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

func mustClose(t *testing.T, l *rotated.File) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func initials(s string) (out string) {
	for line := range strings.Lines(s) {
		out += line[:1]
	}
	return out
}

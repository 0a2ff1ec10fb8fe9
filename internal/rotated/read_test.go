package rotated_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"refrain/internal/rotated"
)

// numbered is line i; some are longer than what is read at once.
func numbered(i int) string {
	return fmt.Sprint("line ", i, strings.Repeat(" and so on", i%7*1500))
}

func mustWrite(t *testing.T, f *rotated.File, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if _, err := f.Write([]byte(numbered(i) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
}

func numberOf(line []byte) (i int) {
	_, _ = fmt.Sscanf(string(line), "line %d", &i) // a line of another kind is found by its text
	return i
}

// TestReads: all lines that are kept, forwards and backwards, whole.
func TestReads(t *testing.T) {
	f, err := rotated.Open(rotated.Config{Path: filepath.Join(t.TempDir(), "log"), MaxBytes: 1 << 20, Old: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, f)
	mustWrite(t, f, 0, 100)
	var forward, backward []int
	if err := f.Forward(func(line []byte) error {
		i := numberOf(line)
		if string(line) != numbered(i) {
			t.Errorf("line of %d bytes", len(line))
		}
		forward = append(forward, i)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := f.Backward("", func(line []byte, _ string) bool {
		i := numberOf(line)
		if string(line) != numbered(i) {
			t.Errorf("line of %d bytes", len(line))
		}
		backward = append(backward, i)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(backward)
	if len(forward) < 50 || forward[len(forward)-1] != 99 || !slices.Equal(forward, backward) {
		t.Errorf("forward %v\nbackward %v", forward, backward)
	}
}

// TestPages: whatever is written and renamed between two pages, no line comes twice and none that is kept is left out.
func TestPages(t *testing.T) {
	f, err := rotated.Open(rotated.Config{Path: filepath.Join(t.TempDir(), "log"), MaxBytes: 1 << 20, Old: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, f)
	mustWrite(t, f, 0, 60)
	next, written, want := "", 60, 59
	for {
		n := 0
		if err := f.Backward(next, func(line []byte, place string) bool {
			if i := numberOf(line); i != want {
				t.Fatalf("line %d, want %d", i, want)
			}
			want, next, n = want-1, place, n+1
			return n < 7
		}); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		mustWrite(t, f, written, written+5)
		written += 5
	}
	if want > 30 { // what has been dropped meanwhile is gone
		t.Errorf("the last line is %d", want+1)
	}
	for _, place := range []string{"x", "0123456789abcdef", "0123456789abcdef--1"} {
		if err := f.Backward(place, func([]byte, string) bool { return true }); !errors.Is(err, rotated.ErrPlace) {
			t.Errorf("%s: %v", place, err)
		}
	}
}

//go:build unix

package file

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

func mustFIFO(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	return path
}

func mustOpen(t *testing.T, path string) *Source {
	t.Helper()
	f, err := Open(Default(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestFIFOWithoutWriter: neither opening waits for one, nor does reading hold up the end.
func TestFIFOWithoutWriter(t *testing.T) {
	f := mustOpen(t, mustFIFO(t, "posts.jsonl"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := f.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next: %v, want it to end with its context", err)
	}
}

// TestFIFOWithSilentWriter: half a line is there, and whoever writes it stays.
func TestFIFOWithSilentWriter(t *testing.T) {
	path := mustFIFO(t, "posts.jsonl")
	f := mustOpen(t, path)
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := io.WriteString(w, validLine("1")+`{"id":"2`); err != nil {
		t.Fatal(err)
	}
	b, err := f.Next(t.Context())
	if err != nil || len(b.Posts) != 1 {
		t.Fatalf("Next: %+v, %v, want the post that is whole", b, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := f.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next: %v, want it to end with its context", err)
	}
}

// TestFIFOIsReadToTheEnd, which is when the last writer has gone; packed or not.
func TestFIFOIsReadToTheEnd(t *testing.T) {
	for _, name := range []string{"posts.jsonl", "posts.jsonl.gz"} {
		path := mustFIFO(t, name)
		f := mustOpen(t, path)
		wrote := make(chan error, 1)
		go func() { wrote <- writePosts(path, 2500) }()
		posts := 0
		for {
			b, err := f.Next(t.Context())
			posts += len(b.Posts)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := <-wrote; err != nil || posts != 2500 {
			t.Errorf("%s: %d posts, %v", name, posts, err)
		}
	}
}

func writePosts(path string, n int) error {
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer w.Close()
	content := strings.Repeat(validLine("1"), n)
	if !strings.HasSuffix(path, ".gz") {
		_, err := io.WriteString(w, content)
		return err
	}
	z := gzip.NewWriter(w)
	if _, err := io.WriteString(z, content); err != nil {
		return err
	}
	return z.Close()
}

// TestWhatIsNoFile is refused before it is opened.
func TestWhatIsNoFile(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]string{
		t.TempDir(): "a directory", socket: "a socket", "/dev/zero": "a device", "/dev/tty": "a device",
	} {
		if _, err := os.Stat(path); err != nil {
			continue // not here
		}
		if _, err := Open(Default(path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if _, err := readAll(t, Default(os.DevNull)); err != nil {
		t.Errorf("%s: %v", os.DevNull, err)
	}
}

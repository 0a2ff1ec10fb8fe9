package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
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
	if status != exitFailure || !strings.Contains(stderr, "stdin:51: want a JSON object") || strings.Contains(stderr, "stdin:62") {
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
		later, earlier := fmt.Sprintf(`"later":{"source":"","post":"p%02d"`, i+1), fmt.Sprintf(`"earlier":{"source":"","post":"p%02d"`, i)
		if !strings.Contains(line, later) || !strings.Contains(line, earlier) {
			t.Fatalf("event %d is not %s with %s: %s", i, later, earlier, line)
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
	if stderr, status := runDetect(t, in, &brokenPipe{100_000}); status != exitFailure || !strings.Contains(stderr, errBroken.Error()) {
		t.Errorf("status %d, and on stderr: %s", status, stderr)
	}
}

// TestDetectInterrupted: what was read before goes all the way.
func TestDetectInterrupted(t *testing.T) {
	in, feed := io.Pipe()
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for i := range 20 {
			_, _ = io.WriteString(feed, wordy(i))
		}
		interrupt()
		_, _ = io.WriteString(feed, wordy(20)) // a read cannot be interrupted
		_ = feed.Close()
	}()
	var out, diagnostics bytes.Buffer
	m := Main{Stdin: in, Stdout: &out, Stderr: &diagnostics}
	status := m.Run(ctx, []string{"detect", "--batch", "1"})
	n := strings.Count(out.String(), "\n")
	if status != exitFailure || !strings.Contains(diagnostics.String(), errInterrupted.Error()) || n < 19 || n > 20 {
		t.Errorf("status %d, %d events, and on stderr: %s", status, n, diagnostics.String())
	}
}

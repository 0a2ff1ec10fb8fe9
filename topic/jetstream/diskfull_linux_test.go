package jetstream_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/jetstream"
)

// TestDiskReallyFull fills a small file system of its own to the last byte, past MinFree.
func TestDiskReallyFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	stored := 0
	func() {
		s := MustStart(t, func(c *jetstream.Config) { c.Dir, c.MinFree = dir, 1 })
		defer MustClose(t, s)
		x := MustOpenTopic(t, s)
		var err error
		for err == nil && stored < 1000 {
			if err = x.Append(t.Context(), []topic.Record{{Data: make([]byte, 200_000)}}); err == nil {
				stored++
			}
		}
		if !errors.Is(err, topic.ErrFull) || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("after %d records: got %v, want ErrFull and the words", stored, err)
		}
		if err := x.Append(t.Context(), []topic.Record{{}}); !errors.Is(err, topic.ErrFull) ||
			!strings.Contains(err.Error(), "restart") {
			t.Errorf("next: got %v, want ErrFull and what to do", err)
		}
	}()
	// With room again, everything acknowledged is there.
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=200m"); err != nil {
		t.Fatal(err)
	}
	x := MustOpenTopic(t, MustStart(t, func(c *jetstream.Config) { c.Dir = dir }))
	conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), stored)
	conformance.MustAppend(t, x, topic.Record{Data: []byte("after")})
}

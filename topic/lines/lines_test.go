package lines

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"refrain/internal/rotated"
	"refrain/topic"
)

func mustNew(t *testing.T) (*Log, *topic.Memory) {
	t.Helper()
	in := topic.NewMemory(topic.DefaultMemory())
	l, err := New("letters", in)
	if err != nil {
		t.Fatal(err)
	}
	return l, in
}

func mustWrite(t *testing.T, l *Log, from, to int) {
	t.Helper()
	var all strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	if n, err := l.Write([]byte(all.String())); n != all.Len() || err != nil {
		t.Fatal(n, err)
	}
}

func forward(t *testing.T, l *Log) (all []string) {
	t.Helper()
	if err := l.Forward(func(line []byte) error { all = append(all, string(line)); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestForward: what is there, the oldest first, and the visitor's error.
func TestForward(t *testing.T) {
	l, _ := mustNew(t)
	if got := forward(t, l); len(got) > 0 {
		t.Errorf("of nothing: %q", got)
	}
	mustWrite(t, l, 0, 3)
	mustWrite(t, l, 3, 5)
	if got := strings.Join(forward(t, l), ","); got != "line 0,line 1,line 2,line 3,line 4" {
		t.Error(got)
	}
	stop := errors.New("stop")
	if err := l.Forward(func([]byte) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// TestBackward goes through all lines in pages, the latest first, also where there are more than are read at once.
func TestBackward(t *testing.T) {
	l, in := mustNew(t)
	const n = 2*backwardStep + 7
	mustWrite(t, l, 0, n)
	in.Truncate(0, 2) // what retention has dropped is not there
	place, next := "", n-1
	for more := true; more; {
		more = false
		pages := 0
		err := l.Backward(place, func(line []byte, at string) bool {
			if pages == 333 {
				more = true
				return false
			}
			if want := fmt.Sprintf("line %d", next); string(line) != want {
				t.Fatalf("got %q, want %q", line, want)
			}
			place, next, pages = at, next-1, pages+1
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if next != 1 {
		t.Errorf("%d are missing", next-1)
	}
	for _, bad := range []string{"x", "-1"} {
		if err := l.Backward(bad, func([]byte, string) bool { return true }); !errors.Is(err, rotated.ErrPlace) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// slow is a writer that is out of reach at first.
type slow struct {
	mu     sync.Mutex
	away   bool
	got    strings.Builder
	closed int
}

func (s *slow) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return 0, errors.New("away")
	}
	return s.got.Write(p)
}

func (s *slow) Close() error {
	s.closed++
	return nil
}

func (s *slow) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// TestBehind: who writes does not wait while there is room; nothing is lost by a broker that is away for a while.
func TestBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &slow{away: true}
		b := NewWriteBehind("deliveries", to, slog.New(slog.DiscardHandler))
		line := strings.Repeat("x", 1<<10-1) + "\n"
		const lines = 3 << 10 // 3 MiB: more than there is room for
		written := make(chan int, lines)
		go func() {
			for i := range lines {
				if _, err := b.Write([]byte(line)); err != nil {
					t.Error(err)
				}
				written <- i
			}
		}()
		synctest.Wait()
		if n := len(written) << 10; n < maxPending || n > 2*maxPending {
			t.Errorf("%d bytes are held, want some %d", n, maxPending)
		}
		to.set(false)
		time.Sleep(time.Minute) // of the bubble
		synctest.Wait()
		if err := b.Close(); err != nil || to.got.Len() != lines*len(line) {
			t.Errorf("%d bytes of %d, %v", to.got.Len(), lines*len(line), err)
		}
		if _, err := b.Write([]byte(line)); err == nil {
			t.Error("written after Close")
		}
	})
}

// TestBehindGivesUp: the end waits for a broker that is away, but not for ever, and says what is lost.
func TestBehindGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &slow{away: true}
		b := NewWriteBehind("deliveries", to, slog.New(slog.DiscardHandler))
		if _, err := b.Write([]byte("a\n")); err != nil {
			t.Error(err)
		}
		begin := time.Now()
		err := b.Close()
		if took := time.Since(begin); err == nil || !strings.Contains(err.Error(), "2 bytes of deliveries are not written") || took != closeTimeout {
			t.Errorf("%v after %v", err, took)
		}
	})
}

package publish_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
	"refrain/publish"
	"refrain/topic"
)

// sink keeps the posts of the events it is given, and fails when it is told to.
type sink struct {
	mu    sync.Mutex
	posts []string
	fail  error
	got   chan struct{}
}

func (s *sink) Publish(_ context.Context, events []publish.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	for _, e := range events {
		m, err := feed.DecodeEvent(e.Data)
		if err != nil {
			return err
		}
		s.posts = append(s.posts, m.Later.Post)
		s.got <- struct{}{}
	}
	return nil
}

func (s *sink) has(posts []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(posts, func(p string) bool { return !slices.Contains(s.posts, p) })
}

// follow runs Follow until the sink has had all of the posts. The last batch before a stop may come again.
func follow(t *testing.T, cfg publish.FollowConfig, s *sink, posts ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- publish.Follow(ctx, cfg) }()
	for !s.has(posts) {
		<-s.got
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestFollowChecksAQuietSink: a sink that has lost something says so without being given more.
func TestFollowChecksAQuietSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, gone := time.Now(), errors.New("gone")
		err := publish.Follow(t.Context(), publish.FollowConfig{
			ReaderConfig: publish.ReaderConfig{
				Topic: topic.NewMemory(topic.DefaultMemory()), Store: new(topic.MemoryStore), Name: "test",
				Logger: slog.New(slog.DiscardHandler),
			},
			Sink: new(sink), Check: func(context.Context) error { return gone },
		})
		if took := time.Since(began); !errors.Is(err, gone) || took < time.Second || took > time.Minute { // virtual
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestFollowGoesOnFromItsCursor(t *testing.T) {
	for name, top := range topics() {
		t.Run(name, func(t *testing.T) {
			s := &sink{got: make(chan struct{}, 100)}
			cfg := publish.FollowConfig{ReaderConfig: publish.ReaderConfig{
				Topic: top, Store: new(topic.MemoryStore), Name: "test", Logger: slog.New(slog.DiscardHandler),
				Deleted: func(n feed.Name, _ time.Time) bool { return n.Post == "p1" },
			}, Sink: s}
			appendPosts(t, top, names(0, 5)...)
			follow(t, cfg, s, "p0", "p2", "p3", "p4")
			appendPosts(t, top, names(5, 8)...)
			follow(t, cfg, s, "p5", "p6", "p7")
			if s.has([]string{"p1"}) {
				t.Error("a deleted post is published")
			}
		})
	}
}

func TestFollowDoesNotPassAFailedSink(t *testing.T) {
	top, store := topic.NewMemory(topic.DefaultMemory()), new(topic.MemoryStore)
	appendPosts(t, top, names(0, 2)...)
	s := &sink{got: make(chan struct{}, 10), fail: errors.New("pipe closed")}
	cfg := publish.FollowConfig{
		ReaderConfig: publish.ReaderConfig{Topic: top, Store: store, Name: "test", Logger: slog.Default()}, Sink: s,
	}
	if err := publish.Follow(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "publish to test: pipe closed") {
		t.Errorf("error %v", err)
	}
	s.fail = nil
	follow(t, cfg, s, names(0, 2)...)
	if diff := cmp.Diff(names(0, 2), s.posts); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// written is a buffer that may be looked at while it is written to.
type written struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

func TestLinesFlushWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out written
		l := publish.NewLines(&out)
		for range 2 {
			if err := l.Append([]byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != "" {
			t.Error("every line is a write of its own")
		}
		time.Sleep(time.Second) // virtual
		synctest.Wait()
		if got := out.String(); got != "{}\n{}\n" {
			t.Errorf("after a second without events: %q", got)
		}
		if err := l.Publish(t.Context(), []publish.Event{{Data: []byte("{1}")}}); err != nil || out.String() != "{}\n{}\n{1}\n" {
			t.Errorf("Publish: %v, %q", err, out.String())
		}
	})
}

func TestLinesReportABrokenPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	l := publish.NewLines(w)
	if err := l.Append([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := l.Flush(); err == nil {
		t.Error("no error from a closed pipe")
	}
	if err := l.Append([]byte("{}")); err == nil {
		t.Error("the error is forgotten")
	}
}

// slowSink takes 103.5 ms for every batch, and notes when it was given how many events.
type slowSink struct{ batches []string }

func (s *slowSink) Publish(_ context.Context, events []publish.Event) error {
	s.batches = append(s.batches, fmt.Sprintf("%v: %d", time.Since(beginning).Round(time.Millisecond), len(events)))
	time.Sleep(103_500 * time.Microsecond)
	return nil
}

// beginning is when the clock of a synctest bubble starts.
var beginning = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// TestFollowGathers: an event comes every ten milliseconds. What comes while the sink works, and in the four times as long
// behind it, is one batch; less when there are enough, unless more urgent work is to be done.
func TestFollowGathers(t *testing.T) {
	tests := []struct {
		name   string
		gather int
		busy   func() bool
		want   []string
	}{
		{"what is there", 0, nil, []string{"5ms: 1", "109ms: 10", "212ms: 10"}},
		{"in peace", 1000, nil, []string{"5ms: 1", "523ms: 51", "1.04s: 52"}},
		{"enough", 20, nil, []string{"5ms: 1", "205ms: 20", "405ms: 20"}},
		{"enough, and busy", 20, func() bool { return true }, []string{"5ms: 1", "523ms: 20", "1.04s: 42"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				top, s := topic.NewMemory(topic.DefaultMemory()), new(slowSink)
				ctx, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
				defer cancel()
				time.Sleep(5 * time.Millisecond) // no event comes when a batch ends
				var feeding sync.WaitGroup
				feeding.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						appendPosts(t, top, names(n, n+1)...)
						time.Sleep(10 * time.Millisecond)
					}
				})
				defer feeding.Wait()
				cfg := publish.FollowConfig{
					ReaderConfig: publish.ReaderConfig{Topic: top, Store: new(topic.MemoryStore), Name: "test",
						Logger: slog.Default()}, Sink: s,
				}
				cfg.Gather, cfg.Busy = test.gather, test.busy
				if err := publish.Follow(ctx, cfg); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(test.want, s.batches[:min(3, len(s.batches))]); diff != "" {
					t.Errorf("batches (-want +got):\n%s", diff)
				}
			})
		})
	}
}

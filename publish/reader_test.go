package publish_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"refrain/feed"
	"refrain/publish"
	"refrain/topic"
)

// TestReaderGoesOnExactly: what was done, in any order, is not offered after a restart; everything else is, once.
func TestReaderGoesOnExactly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		top := newMemory(topic.MemoryConfig{
			Partitions: rapid.IntRange(1, 3).Draw(rt, "partitions"), Ordered: rapid.Bool().Draw(rt, "ordered"), MaxFetch: 3,
		})
		cfg := publish.ReaderConfig{Topic: top, Store: new(topic.MemoryStore), Name: "test", Logger: slog.New(slog.DiscardHandler)}
		left := map[string]bool{}
		for round := range 4 {
			var fresh []string
			for i := range rapid.IntRange(0, 8).Draw(rt, "fresh") {
				p := fmt.Sprint(round, "-", i)
				fresh, left[p] = append(fresh, p), true
			}
			appendPosts(t, top, fresh...)
			r, err := publish.OpenReader(context.Background(), cfg)
			if err != nil {
				rt.Fatal(err)
			}
			for _, e := range offered(rt, r, len(left)) {
				if !left[e.Post] {
					rt.Fatalf("round %d: %s is offered, and was done", round, e.Post)
				}
				if rapid.Bool().Draw(rt, "done") {
					r.Done(e)
					delete(left, e.Post)
				}
			}
			if err := r.Commit(context.Background()); err != nil {
				rt.Fatal(err)
			}
			if err := r.Close(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// offered reads n events, each of another post.
func offered(rt *rapid.T, r *publish.Reader, n int) (all []publish.Event) {
	seen := map[string]bool{}
	for len(all) < n {
		events, err := r.Next(context.Background())
		if err != nil {
			rt.Fatal(err)
		}
		for _, e := range events {
			if seen[e.Post] {
				rt.Fatalf("%s is offered twice", e.Post)
			}
			seen[e.Post] = true
		}
		all = append(all, events...)
	}
	return all
}

// fragile is a sink that fails or goes back when it is told to.
type fragile struct {
	posts []string
	fail  func(n int) error // of the n-th call
	calls int
}

func (f *fragile) Publish(_ context.Context, events []publish.Event) error {
	f.calls++
	if err := f.fail(f.calls); err != nil {
		return err
	}
	for i := range events {
		f.posts = append(f.posts, events[i].Post)
	}
	return nil
}

// going is a store whose cursor goes back with its sink: at the given Put it is empty.
type going struct {
	topic.MemoryStore
	puts, at int
}

func (g *going) Put(ctx context.Context, key string, value []byte) error {
	if g.puts++; g.puts == g.at {
		g.MemoryStore = topic.MemoryStore{}
		return fmt.Errorf("put: %w", publish.ErrRewind)
	}
	return g.MemoryStore.Put(ctx, key, value)
}

// TestFollowBeginsAgainWhenTheSinkHasGoneBack, whether that shows when events are handed over or when the cursor is
// stored.
func TestFollowBeginsAgainWhenTheSinkHasGoneBack(t *testing.T) {
	for name, test := range map[string]struct {
		fail func(int) error
		at   int
		want string
	}{
		"when the cursor is stored": {func(int) error { return nil }, 1, "p0 p1 p0 p1"},
		"when events are taken":     {failAt(1), 0, "p0 p1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				top, sink := topic.NewMemory(topic.DefaultMemory()), &fragile{fail: test.fail}
				appendPosts(t, top, names(0, 2)...)
				var log written
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() {
					ended <- publish.Follow(ctx, publish.FollowConfig{Retry: true, Sink: sink, ReaderConfig: publish.ReaderConfig{
						Topic: top, Store: &going{at: test.at}, Name: "test", Logger: slog.New(slog.NewTextHandler(&log, nil)),
					}})
				}()
				time.Sleep(time.Minute) // virtual
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if got := strings.Join(sink.posts, " "); got != test.want {
					t.Errorf("published %q, want %q", got, test.want)
				}
				if !strings.Contains(log.String(), "gone back to an earlier state") {
					t.Errorf("nothing is said of it: %s", log.String())
				}
			})
		})
	}
}

func failAt(n int) func(int) error {
	return func(call int) error {
		if call == n {
			return fmt.Errorf("apply: %w", publish.ErrRewind)
		}
		return nil
	}
}

// TestDeletedBetweenTwoTries: what was deleted while a sink was away is not handed to it.
func TestDeletedBetweenTwoTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		top := topic.NewMemory(topic.DefaultMemory())
		appendPosts(t, top, names(0, 3)...)
		deleted := false
		sink := &fragile{fail: func(call int) error {
			deleted = true
			if call < 3 {
				return errors.New("away")
			}
			return nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- publish.Follow(ctx, publish.FollowConfig{Retry: true, Sink: sink, ReaderConfig: publish.ReaderConfig{
				Topic: top, Store: new(topic.MemoryStore), Name: "test", Logger: slog.New(slog.DiscardHandler),
				Deleted: func(n feed.Name, _ time.Time) bool { return deleted && n.Post == "p1" },
			}})
		}()
		time.Sleep(time.Minute) // virtual
		cancel()
		<-ended
		if got := strings.Join(sink.posts, " "); got != "p0 p2" {
			t.Errorf("published %q, want p0 and p2", got)
		}
	})
}

// TestDeletedFirst: a match of two posts that are there is shown, though the first of their text is gone.
func TestDeletedFirst(t *testing.T) {
	top := topic.NewMemory(topic.DefaultMemory())
	appendPosts(t, top, "p0")
	r, err := publish.OpenReader(t.Context(), publish.ReaderConfig{
		Topic: top, Store: new(topic.MemoryStore), Name: "test", Logger: slog.Default(),
		Deleted: func(n feed.Name, _ time.Time) bool { return n.Post == "first" },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	events, err := r.Next(t.Context())
	if err != nil || len(events) != 1 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	m, err := feed.DecodeEvent(events[0].Data)
	if err != nil || m.First.Post != "witness of p0" || strings.Contains(string(events[0].Data), `"first","time"`) {
		t.Errorf("event %s, %v", events[0].Data, err)
	}
}

// TestNextIsBoundedByBytes: events of 100 kB come a megabyte at a time, all of them and in order; so does what is gathered
// for a sink.
func TestNextIsBoundedByBytes(t *testing.T) {
	const events = 100
	top := topic.NewMemory(topic.DefaultMemory())
	for i := range events {
		m := feed.Match{Later: feed.Occurrence{Post: fmt.Sprint(i), Text: strings.Repeat("\x01", 100_000/6)}}
		if err := top.Append(t.Context(), []topic.Record{{Data: m.AppendEvent(nil, "d")}}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := publish.OpenReader(t.Context(), publish.ReaderConfig{
		Topic: top, Store: new(topic.MemoryStore), Name: "test", Logger: slog.Default(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for n := 0; n < events; {
		got, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for i := range got {
			size += len(got[i].Data)
			if want := fmt.Sprint(n + i); got[i].Post != want {
				t.Fatalf("event %d is that of post %s", n+i, got[i].Post)
			}
		}
		if size > 1<<20 {
			t.Errorf("%d events of %d bytes at once", len(got), size)
		}
		n += len(got)
	}
}

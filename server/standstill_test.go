package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"refrain/feed"
	"refrain/ingest"
	"refrain/publish"
)

// pushed is a source that a test pushes batches into.
type pushed chan ingest.Batch

func (p pushed) Next(ctx context.Context) (ingest.Batch, error) {
	select {
	case b := <-p:
		return b, nil
	case <-ctx.Done():
		return ingest.Batch{}, ctx.Err()
	}
}

// MustPush returns when three posts of the same words are durable.
func (p pushed) MustPush(t *testing.T, partition, id, words string, at time.Time) {
	t.Helper()
	var posts []feed.Post
	for i := range 3 {
		posts = append(posts, feed.Post{
			ID: fmt.Sprint(id, i), Text: words, Time: feed.FromTime(at).Add(time.Duration(i)), Timed: true,
		})
	}
	durable := make(chan error, 1)
	p <- ingest.Batch{Partition: partition, Posts: posts, Ack: func(err error) { durable <- err }}
	if err := <-durable; err != nil {
		t.Fatal(err)
	}
}

// untilPost is done when an event shows a post.
type untilPost struct {
	id   string
	done context.CancelFunc
	seen bool
}

func (u *untilPost) Publish(_ context.Context, events []publish.Event) error {
	for i := range events {
		m, err := feed.DecodeEvent(events[i].Data)
		if err != nil {
			return err
		}
		if m.Later.Post == u.id {
			u.seen = true
			u.done()
		}
	}
	return nil
}

// TestSlowSourceSurvivesAStandstill: the machine stands still for two minutes. A source partition 10 h behind the
// other one brings a repeat right after that.
func TestSlowSourceSurvivesAStandstill(t *testing.T) {
	const words, other = "The very same words stand here again", "What the others have to say is something else"
	var ahead atomic.Int64 // of the clock
	cfg := testConfig(t)
	cfg.Window.Span = time.Hour
	s := mustNew(t, cfg)
	s.now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	src := make(pushed)
	s.AddSource("test", src)
	mustServe(t, s)

	tick := func() { // what a second is to the service
		t.Helper()
		ahead.Add(int64(time.Second))
		s.node.split.Tick(t.Context(), s.now())
		if err := s.node.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	slow := s.now().Add(-10 * time.Hour)
	src.MustPush(t, "slow", "a", words, slow)
	for i := range 10 { // the window lets go in blocks: a's is complete
		src.MustPush(t, "slow", fmt.Sprint("later", i), other, slow.Add(time.Duration(i)*time.Minute))
		tick()
	}
	for range 3 {
		src.MustPush(t, "fast", "x", other, s.now())
		tick()
	}
	ahead.Add(int64(2 * time.Minute))
	for range 3 {
		src.MustPush(t, "fast", "x", other, s.now())
		tick()
	}
	src.MustPush(t, "slow", "b", words, slow.Add(30*time.Minute))
	tick()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	until := untilPost{id: "b0", done: cancel}
	if err := s.Follow(ctx, "test", &until); err != nil {
		t.Fatal(err)
	}
	if !until.seen {
		t.Error("the repeat of the slow source is lost")
	}
}

// TestSentencesArePurged: the topic keeps no sentence that the windows have let go, long before its age.
func TestSentencesArePurged(t *testing.T) {
	cfg := testConfig(t)
	cfg.Window.Span = time.Hour
	s := mustNew(t, cfg)
	var ahead atomic.Int64
	s.now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	src := make(pushed)
	s.AddSource("test", src)
	mustServe(t, s)
	begin := s.now().Add(-100 * time.Hour)
	for i := range 100 {
		src.MustPush(t, "feed", fmt.Sprint("p", i), "The very same words stand here again", begin.Add(time.Duration(i)*time.Hour))
		ahead.Add(int64(time.Minute)) // what tells redeliveries begins at whole twelfths of an hour
		s.node.split.Tick(t.Context(), s.now())
	}
	if err := s.node.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, end, err := s.node.sentences.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The states of the last hour need more. Each minute of it has to be stored once.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		ahead.Add(int64(time.Minute))
		src.MustPush(t, "feed", "last", "The very same words stand here again", begin.Add(100*time.Hour))
		s.node.split.Tick(t.Context(), s.now())
		s.node.purgeNow(t.Context())
		start, _, err := s.node.sentences.Bounds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if purged, last := min(start[0], start[1], start[2], start[3]), max(end[0], end[1], end[2], end[3]); purged > last*3/4 {
			t.Logf("of %d positions %d are purged", last, purged)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("starts at %v, ends at %v", start, end)
		}
	}
}

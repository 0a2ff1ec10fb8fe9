package shard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/text"
	"refrain/topic"
)

// weighed is an event topic that notes the bytes of each append. While it is shut it takes nothing.
type weighed struct {
	topic.Topic
	appends []int
	largest int // bytes of one record
	shut    atomic.Bool
	refused atomic.Int64
}

var errShut = errors.New("shut")

func (t *weighed) Append(ctx context.Context, records []topic.Record) error {
	if t.shut.Load() {
		t.refused.Add(1)
		return errShut
	}
	sum := 0
	for i := range records {
		sum += len(records[i].Data)
		t.largest = max(t.largest, len(records[i].Data))
	}
	t.appends = append(t.appends, sum)
	return t.Topic.Append(ctx, records)
}

// names are as long as may be, and take six times as much in JSON.
var names = strings.Repeat("\x01", feed.MaxName-8)

// hostile writes a post of many sentences alike, with such names.
func (r *route) hostile(id string, sentences int, after time.Duration) {
	r.tb.Helper()
	p := feed.Post{
		ID: names + id, Source: names, Author: names, Text: strings.Repeat("One two three four five.\n", sentences),
		Time: feed.Time(1_690_000_000_000).Add(after), Timed: true,
	}
	r.now = r.now.Add(time.Second)
	if err := r.split.Write(context.Background(), []feed.Post{p}, "s"); err != nil {
		r.tb.Fatal(err)
	}
}

// realRows makes the windows detectors, without limits.
func realRows(cfg *Config) {
	cfg.Rows = func(int) (Rows, error) {
		window := detector.Default()
		window.Span = cfg.Span
		return detector.NewPartition(window)
	}
}

// TestEventsAreSpilledByBytes: two posts whose names take six times as much in JSON give events of 70 kB. Before, 8,192 of
// them went to the topic together.
func TestEventsAreSpilledByBytes(t *testing.T) {
	const sentences = 200
	r := newRoute(t, 1)
	cfg, events := r.config(0), &weighed{Topic: r.events}
	realRows(&cfg)
	cfg.Events = events
	w := r.mustOpen(cfg)
	r.hostile("a", sentences, 0)
	r.hostile("b", sentences, time.Minute)
	r.mustStep(w)
	if n := len(r.out()); n != sentences {
		t.Fatalf("%d events, want %d", n, sentences)
	}
	checkAppends(t, events, cfg.EventBytes)
}

// TestOneLookUpIsSpilled: a post dated before thousands of copies of it makes all of them repeats, in one look-up. Before,
// they were held until it had ended.
func TestOneLookUpIsSpilled(t *testing.T) {
	const copies = 300
	r := newRoute(t, 1)
	cfg, events := r.config(0), &weighed{Topic: r.events}
	realRows(&cfg)
	cfg.Events = events
	w := r.mustOpen(cfg)
	for i := range copies {
		r.hostile(fmt.Sprint(i), 1, time.Minute)
	}
	r.mustStep(w)
	events.appends = nil
	r.hostile("early", 1, 0)
	r.mustStep(w)
	if len(events.appends) < 2 {
		t.Fatalf("the events of one look-up went to the topic in %d appends of %d bytes", len(events.appends), events.appends)
	}
	checkAppends(t, events, cfg.EventBytes)
}

// checkAppends: no append is larger than what may wait together, but for the event that made it so much.
func checkAppends(t *testing.T, events *weighed, limit int) {
	t.Helper()
	for _, sum := range events.appends {
		if sum > limit+events.largest {
			t.Errorf("an append of %d bytes: want %d at most, and one event more, of %d", sum, limit, events.largest)
		}
	}
}

// newShutRoute is a route with two hostile posts of so many sentences, whose events the event topic does not take.
func newShutRoute(tb testing.TB, sentences int) (*route, Config, *weighed) {
	tb.Helper()
	r := newRoute(tb, 1)
	cfg, events := r.config(0), &weighed{Topic: r.events}
	realRows(&cfg)
	cfg.Events, cfg.EventBytes = events, 1<<20
	r.hostile("a", sentences, 0)
	r.hostile("b", sentences, time.Minute)
	events.shut.Store(true)
	return r, cfg, events
}

// waitUntilShut waits until a turn under way has tried more than once to append.
func (w *weighed) waitUntilShut(tb testing.TB, stepped <-chan error) {
	tb.Helper()
	for w.refused.Load() < 3 {
		select {
		case err := <-stepped:
			tb.Fatalf("the turn ends with %v: want it to wait", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestFullOutboxWaits: where the event topic takes nothing, look-ups wait before too much waits with them. Stopped
// then, the worker commits nothing, and the next one finds all events.
func TestFullOutboxWaits(t *testing.T) {
	const sentences = 400
	r, cfg, events := newShutRoute(t, sentences)
	w := r.mustOpen(cfg)
	ctx, stop := context.WithCancel(context.Background())
	stepped := make(chan error)
	go func() { stepped <- w.Step(ctx) }()
	events.waitUntilShut(t, stepped)
	stop()
	if err := <-stepped; !errors.Is(err, errGivenUp) {
		t.Fatalf("the turn ends with %v, want %v", err, errGivenUp)
	}
	events.shut.Store(false)
	if err := w.finish(context.Background()); !errors.Is(err, errGivenUp) {
		t.Errorf("the worker finishes with %v, want %v: what it has given up must not be committed", err, errGivenUp)
	}
	r.mustStep(r.mustOpen(cfg))
	if n := len(r.ids()); n != sentences {
		t.Errorf("%d events, want %d", n, sentences)
	}
}

// TestMatchDoesNotWaitForTheEventTopic: who looks a text up while a turn waits for the event topic may give up. Before, he
// waited as long as the turn.
func TestMatchDoesNotWaitForTheEventTopic(t *testing.T) {
	const sentences = 400
	r, cfg, events := newShutRoute(t, sentences)
	w := r.mustOpen(cfg)
	stepped := make(chan error)
	go func() { stepped <- w.Step(context.Background()) }()
	events.waitUntilShut(t, stepped)
	ctx, giveUp := context.WithCancel(context.Background())
	matched := make(chan error)
	go func() { matched <- w.EachMatch(ctx, &feed.Sentence{}, text.DefaultThreshold, func(*feed.Match) {}) }()
	giveUp()
	select {
	case err := <-matched:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the look-up ends with %v, want %v", err, context.Canceled)
		}
	case <-time.After(20 * time.Second):
		t.Error("the look-up waits for the event topic")
	}
	events.shut.Store(false)
	if err := <-stepped; err != nil {
		t.Error(err)
	}
	if n := len(r.ids()); n != sentences {
		t.Errorf("%d events, want %d", n, sentences)
	}
}

// TestTurnIsBoundedByBytes: what is read at once is not decoded at once.
func TestTurnIsBoundedByBytes(t *testing.T) {
	const posts = 40
	r := newRoute(t, 1)
	cfg := r.config(0)
	realRows(&cfg)
	w := r.mustOpen(cfg)
	for i := range posts {
		r.post(fmt.Sprint(i), strings.Repeat(fmt.Sprintf("One two three n%d five.\n", i), 2000), time.Duration(i)*time.Second)
	}
	for turns := 0; ; turns++ {
		items, err := w.receive(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		size, got := 0, w.next[0]
		for _, x := range items {
			size += x.size
		}
		if size > 40*receivedBytes {
			t.Errorf("turn %d has %d bytes in hand", turns, size)
		}
		if len(items) == 0 {
			_, ends, _ := r.sentences.Bounds(context.Background())
			if got != ends[0] || turns < 3 {
				t.Errorf("read to %d of %d in %d turns", got, ends[0], turns)
			}
			return
		}
	}
}

package shard

import (
	"context"
	"fmt"
	"testing"
	"time"

	"refrain/feed"
	"refrain/topic"
)

// mustWriteFrom writes posts of one sentence each, in one batch of an origin.
func (r *route) mustWriteFrom(origin string, n int, text func(i int) string) {
	r.tb.Helper()
	r.now = r.now.Add(time.Second)
	posts := make([]feed.Post, n)
	for i := range posts {
		posts[i] = feed.Post{Source: "s", ID: fmt.Sprint(r.now.Unix(), i), Text: text(i)}
	}
	if _, err := r.split.WriteFrom(context.Background(), origin, posts, "s"); err != nil {
		r.tb.Fatal(err)
	}
}

func different(i int) string { return fmt.Sprintf("a%d b%[1]d c%[1]d d%[1]d e%[1]d", i) }
func same(int) string        { return "one two three four five" }

// mustOpenSpent opens a worker, and returns how many sentences it tells of, and what they took.
func (r *route) mustOpenSpent(change func(*Config)) (*Worker, *Spent) {
	r.tb.Helper()
	var sum Spent
	cfg := r.config(0, 1, 2)
	cfg.Spent = func(all []Spent) {
		for _, s := range all {
			sum.Sentences += s.Sentences
			sum.Took += s.Took
		}
	}
	change(&cfg)
	return r.mustOpen(cfg), &sum
}

// TestSpentIsToldOnce: of each sentence once, in topics of either order, also where it is in several records and some turns
// fail.
func TestSpentIsToldOnce(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		r := newRouteOver(t, memoryOf(3, ordered))
		broken := true
		w, sum := r.mustOpenSpent(func(c *Config) { c.Events = sometimesFull{c.Events, &broken} })
		for range 4 {
			r.mustWriteFrom("token:a", 50, same)
			r.mustWriteFrom("token:a", 50, different)
			_ = w.Step(t.Context()) // which fails
		}
		if sum.Sentences > 50 {
			t.Errorf("ordered %t: told of %d sentences whose events are not durable", ordered, sum.Sentences)
		}
		broken = false
		for range 10 {
			r.mustStep(w)
		}
		if sum.Sentences != 400 || len(w.done) > 0 {
			t.Errorf("ordered %t: told of %d sentences, want 400; %d remembered", ordered, sum.Sentences, len(w.done))
		}
	}
}

type sometimesFull struct {
	topic.Topic
	broken *bool
}

func (f sometimesFull) Append(ctx context.Context, records []topic.Record) error {
	if *f.broken {
		return fmt.Errorf("no room")
	}
	return f.Topic.Append(ctx, records)
}

// TestSpentIsOfNewRecords: what was accepted before a start is in nobody's backlog, so nobody gets room for it when it is read
// again, for the rows above all.
func TestSpentIsOfNewRecords(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		r := newRouteOver(t, memoryOf(3, ordered))
		r.mustWriteFrom("token:a", 300, different)
		r.now = r.now.Add(time.Second)
		w, sum := r.mustOpenSpent(func(*Config) {})
		r.mustWriteFrom("token:a", 20, different)
		for range 10 {
			r.mustStep(w)
		}
		if sum.Sentences != 20 {
			t.Errorf("ordered %t: told of %d sentences, want the 20 since the start", ordered, sum.Sentences)
		}
	}
}

// TestAnAppendIsNotTheCostOfOneEvent: a disk or broker takes as long for one event as for a hundred. Who repeats something now
// and then does not pay for that as if each of its sentences took so long.
func TestAnAppendIsNotTheCostOfOneEvent(t *testing.T) {
	const append = 20 * time.Millisecond
	r := newRoute(t, 3)
	w, sum := r.mustOpenSpent(func(c *Config) { c.Events = slowTopic{c.Events, r, append} })
	for i := range 200 {
		r.mustWriteFrom("token:a", 1, func(int) string { return different(i / 2) })
		r.mustStep(w)
	}
	if cost := sum.Took / time.Duration(sum.Sentences); cost > append/50 {
		t.Errorf("a sentence with an event takes %v, beside appends of %v", cost, append)
	}
}

// slowTopic takes so long for an append, by the clock of the route.
type slowTopic struct {
	topic.Topic
	r    *route
	took time.Duration
}

func (s slowTopic) Append(ctx context.Context, records []topic.Record) error {
	s.r.now = s.r.now.Add(s.took)
	return s.Topic.Append(ctx, records)
}

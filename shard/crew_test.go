package shard

import (
	"context"
	"testing"
	"time"

	"refrain/feed"
	"refrain/topic"
)

// crew is a process of this name.
func (r *route) crew(name string) *Crew {
	r.tb.Helper()
	cfg := DefaultCrew()
	cfg.Worker, cfg.Rows, cfg.Name, cfg.Grace = r.config(), r.config().Rows, name, 0
	c, err := OpenCrew(context.Background(), cfg)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(func() { c.Close() })
	return c
}

// ownerTime is when somebody last said that he owns a partition.
func (r *route) ownerTime(q int) time.Time {
	o := must(ReadOwner(context.Background(), r.store, q))
	if o == nil {
		return time.Time{}
	}
	return o.Time
}

// TestTellsWhileItOpens: the others hear of what a process owns also while it restores another window, which may take long.
func TestTellsWhileItOpens(t *testing.T) {
	r, opens, open := newRoute(t, 2), make(chan int, 2), make(chan struct{})
	cfg := DefaultCrew()
	cfg.Worker, cfg.Name, cfg.Grace, cfg.OwnerEvery = r.config(), "a", 0, time.Millisecond
	cfg.Worker.Now = time.Now
	cfg.Rows = func(q int) (Rows, error) {
		if q == 1 {
			opens <- q
			<-open
		}
		return r.config().Rows(q)
	}
	c := must(OpenCrew(t.Context(), cfg))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	c.Assign([]int{0})
	await(t, func() bool { return !r.ownerTime(0).IsZero() })
	c.Assign([]int{0, 1})
	<-opens
	before := r.ownerTime(0)
	await(t, func() bool { return r.ownerTime(0).After(before) })
	close(open)
	await(t, func() bool { return !r.ownerTime(1).IsZero() })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// await looks until something holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for tick := time.NewTicker(time.Millisecond); !holds(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("not seen")
		}
	}
}

func (r *route) mustServe(c *Crew, partitions ...int) {
	r.tb.Helper()
	c.Assign(partitions)
	if err := c.Step(context.Background()); err != nil {
		r.tb.Fatal(err)
	}
}

// TestAskedWhilePartitionsGo: who was handed the workers a moment ago, as metrics are, may ask one that has nothing any more.
func TestAskedWhilePartitionsGo(t *testing.T) {
	r := newRoute(t, 2)
	c := r.crew("a")
	r.mustServe(c, 1)
	w := c.Workers()[0]
	if first, serves := w.First(); first != 1 || !serves {
		t.Errorf("serves %d, %v, want 1", first, serves)
	}
	r.mustServe(c)
	if _, serves := w.First(); serves || len(w.Owned()) != 0 {
		t.Error("it serves something still")
	}
}

// TestAskedForDeletions: who is asked whether it knows of a deletion reads it at once, however seldom it does so else.
func TestAskedForDeletions(t *testing.T) {
	r, ctx := newRoute(t, 1), context.Background()
	cfg := DefaultCrew()
	cfg.Worker, cfg.Rows, cfg.Name, cfg.Grace = r.config(), r.config().Rows, "a", 0
	cfg.Worker.ControlPoll = time.Hour
	c, err := OpenCrew(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r.mustServe(c, 0)
	if err := r.tombstones.Append(ctx, []topic.Record{{Data: topic.AppendTombstones(nil, []feed.Tombstone{{Post: "b"}})}}); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if clean := c.WaitDeleted(ended, 1); len(clean) != 0 {
		t.Errorf("partitions %v know of a deletion that nobody has read", clean)
	}
	r.mustServe(c, 0)
	if clean := c.WaitDeleted(ended, 1); len(clean) != 1 {
		t.Error("a turn later it is not known")
	}
}

// TestLeavesWordOfOthers: a process that leaves, and has not heard yet that another has taken its partition over, does not say
// in that one's place that nobody has it.
func TestLeavesWordOfOthers(t *testing.T) {
	r, ctx := newRoute(t, 1), context.Background()
	first := r.crew("a")
	r.mustServe(first, 0)
	second := r.crew("b")
	r.mustServe(second, 0)
	r.mustServe(second, 0) // which says so
	first.cfg.Leave = true
	first.leave(ctx, true)
	owner, err := ReadOwner(ctx, r.store, 0)
	if err != nil || owner.Worker != "b" || owner.Released {
		t.Errorf("%+v, %v", owner, err)
	}
	second.cfg.Leave = true
	second.leave(ctx, true)
	if owner, err = ReadOwner(ctx, r.store, 0); err != nil || !owner.Released {
		t.Errorf("%+v, %v", owner, err)
	}
}

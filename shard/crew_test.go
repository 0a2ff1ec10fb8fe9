package shard

import (
	"context"
	"testing"
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

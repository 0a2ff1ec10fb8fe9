package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"refrain/ingest"
)

// crash ends a member as a killed process would: nothing more is committed, and it does not leave the group.
func crash(s *Source) {
	s.mu.Lock()
	for _, p := range s.assigned { // what was acknowledged is forgotten
		p.window.reset(-1)
	}
	s.mu.Unlock()
	s.Close()
}

// TestNothingIsLostWithoutACommit: posts that were not acknowledged come again, and so do those whose acknowledgement
// was not committed.
func TestNothingIsLostWithoutACommit(t *testing.T) {
	t.Parallel()
	c, topic := shared(t, 1)
	c.write(topic, 0, posts_("", 0, 100)...)
	cfg := c.config(topic)
	cfg.BatchPosts = 10
	s := mustOpen(t, cfg)
	consume(t, s, 20)
	until(t, "20 are committed", func() bool { return c.committed(cfg.Group, topic, 0) == 20 })
	_ = next(t, s) // and never acknowledged
	unread := next(t, s)
	unread.Done(nil)
	crash(s)
	if at := c.committed(cfg.Group, topic, 0); at != 20 {
		t.Fatalf("committed %d, want 20: the third batch is not acknowledged", at)
	}
	got := ids{}
	got.add(consume(t, mustOpen(t, cfg), 80))
	for i := 20; i < 100; i++ {
		if got[fmt.Sprint(i)] != 1 {
			t.Errorf("post %d came %d times", i, got[fmt.Sprint(i)])
		}
	}
}

// TestAFailedBatchComesAgain, and those behind it, and nothing behind it is committed meanwhile.
func TestAFailedBatchComesAgain(t *testing.T) {
	t.Parallel()
	c, topic := shared(t, 1)
	c.write(topic, 0, posts_("", 0, 30)...)
	cfg := c.config(topic)
	cfg.BatchPosts, cfg.InFlight = 10, 2
	s := mustOpen(t, cfg)
	first, second := next(t, s), next(t, s)
	first.Done(errors.New("disk full"))
	second.Done(nil)
	got := ids{}
	got.add(consume(t, s, 30))
	for i := range 30 {
		if got[fmt.Sprint(i)] != 1 {
			t.Errorf("post %d came %d times after the failure, want once", i, got[fmt.Sprint(i)])
		}
	}
	until(t, "all is committed", func() bool { return c.committed(cfg.Group, topic, 0) == 30 })
}

// TestTwoMembers: when a second member comes, and when one leaves, the partitions move and no post is lost. Every
// post of a partition comes in order within a member.
func TestTwoMembers(t *testing.T) {
	t.Parallel()
	c, topic := shared(t, 4)
	write := func(from, to int) {
		for p := range 4 {
			c.write(topic, p, posts_(fmt.Sprintf("%d-", p), from, to)...)
		}
	}
	cfg := c.config(topic)
	cfg.BatchPosts = 20
	a := join(t, cfg)
	got := ids{}
	write(0, 200)
	got.add(consume(t, a.Source, 400)) // half of them, and some are on their way

	b := join(t, cfg)
	write(200, 400)
	batches := make(chan ingest.Batch)
	pump := func(s *member) {
		for {
			batch, err := s.Next(t.Context())
			if err != nil {
				return
			}
			select {
			case batches <- batch:
			case <-t.Context().Done():
				return
			}
		}
	}
	go pump(a)
	go pump(b)
	collect := func(n int) {
		t.Helper()
		timeout := time.After(patience)
		for len(got) < n {
			select {
			case batch := <-batches:
				got.add(batch)
				batch.Done(nil)
			case <-timeout:
				t.Fatalf("%d of %d posts came", len(got), n)
			}
		}
	}
	collect(1600)
	both := func() bool { return len(names(a)) == 2 && len(names(b)) == 2 }
	until(t, "each has two partitions", both)
	write(400, 600)
	collect(2400)
	a.Close()
	write(600, 800)
	collect(3200)
	twice := 0
	for _, n := range got {
		twice += n - 1
	}
	t.Logf("%d posts came again", twice)
	if n := len(names(b)); n != 4 {
		t.Errorf("the member that is left has %d partitions", n)
	}
}

// TestAckAfterTheGeneration: the acknowledgement of a batch from before a rebalance commits nothing.
func TestAckAfterTheGeneration(t *testing.T) {
	t.Parallel()
	c, topic := shared(t, 1)
	c.write(topic, 0, posts_("", 0, 20)...)
	cfg := c.config(topic)
	cfg.BatchPosts = 10
	a := join(t, cfg)
	stale := next(t, a.Source)
	b := join(t, cfg) // makes a new generation; one of the two has the partition
	until(t, "a new generation", func() bool { return a.generations.Load() > 1 })
	stale.Done(nil)
	if got := first(t, a, b); got.Posts[0].ID != "0" {
		t.Errorf("began with %s, want the first again", got.Posts[0].ID)
	}
	if at := c.committed(cfg.Group, topic, 0); at > 0 {
		t.Errorf("committed %d", at)
	}
}

// TestStandby: a member without partitions waits, and takes over.
func TestStandby(t *testing.T) {
	t.Parallel()
	c, topic := shared(t, 1)
	cfg := c.config(topic)
	a := join(t, cfg)
	until(t, "the first has the partition", func() bool { return len(names(a)) == 1 })
	b := join(t, cfg)
	until(t, "one has it", func() bool { return a.generations.Load() > 1 && len(names(a))+len(names(b)) == 1 })
	holder, other := a, b
	if len(names(b)) == 1 {
		holder, other = b, a
	}
	holder.Close()
	c.write(topic, 0, post("1"))
	consume(t, other.Source, 1)
}

// member is a source, and how many generations it has been in.
type member struct {
	*Source
	generations atomic.Int32
}

func join(tb testing.TB, cfg Config) *member {
	tb.Helper()
	m := &member{}
	cfg.Assigned = func(context.Context, []string) error {
		m.generations.Add(1)
		return nil
	}
	m.Source = mustOpen(tb, cfg)
	return m
}

// first takes the first batch that comes to any of the members: they alone know who has which partition, and when.
func first(tb testing.TB, members ...*member) ingest.Batch {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	got := make(chan ingest.Batch, len(members))
	for _, m := range members {
		go func() {
			if b, err := m.Next(ctx); err == nil {
				got <- b
			}
		}()
	}
	select {
	case b := <-got:
		return b
	case <-ctx.Done():
		tb.Fatal("no member got a batch")
		return ingest.Batch{}
	}
}

// names are the partitions of a member.
func names(m *member) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, p := range m.assigned {
		out = append(out, p.name)
	}
	return out
}

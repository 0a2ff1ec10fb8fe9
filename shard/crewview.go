package shard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"refrain/feed"
	"refrain/text"
)

// What others may ask a crew, from any goroutine. What one may ask a worker about itself: see Crew.Workers.

// PartitionStatus is how a partition that is assigned stands.
type PartitionStatus struct {
	Partition int
	Epoch     int64     // 0: nobody here serves it yet
	Since     time.Time // when it was assigned
	CaughtUp  bool      // its rows are complete, and what was missed is looked up
	Waiting   string    // for what, in words; "" once it has caught up
}

// Partitions are those that are assigned, in rising order.
func (c *Crew) Partitions() []PartitionStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []PartitionStatus{}
	for _, h := range c.held {
		if h.assigned {
			all = append(all, c.status(h))
		}
	}
	if c.again {
		all = append(all, c.notBegunYet()...)
		slices.SortFunc(all, func(a, b PartitionStatus) int { return cmp.Compare(a.Partition, b.Partition) })
	}
	return all
}

// notBegunYet are those that were assigned a moment ago, of which nothing is noted yet; c is locked.
func (c *Crew) notBegunYet() (all []PartitionStatus) {
	for _, q := range c.want {
		if !slices.ContainsFunc(c.held, func(h *holding) bool { return h.id == q && h.assigned }) {
			all = append(all, PartitionStatus{Partition: q, Since: c.now(), Waiting: notBegun})
		}
	}
	return all
}

const notBegun = "not begun yet"

func (c *Crew) status(h *holding) PartitionStatus {
	s := PartitionStatus{Partition: h.id, Since: h.since, Waiting: cmp.Or(h.waiting, notBegun)}
	w := c.servedBy(h)
	if w == nil {
		return s
	}
	s.Epoch, s.CaughtUp = h.epoch, w.CaughtUp()
	switch percent := w.opening.percent(); {
	case s.CaughtUp:
		s.Waiting = ""
	case percent < 100:
		s.Waiting = fmt.Sprintf("replaying: %d %%", percent)
	default:
		s.Waiting = "catching up"
	}
	return s
}

// servedBy is who serves a partition, nil for nobody; c is locked.
func (c *Crew) servedBy(h *holding) *Worker {
	all := c.workers()
	i := slices.IndexFunc(all, func(w *Worker) bool { return slices.Contains(*w.serving.Load(), h.partition) })
	if i < 0 {
		return nil
	}
	return all[i]
}

// WaitFor returns nil once everything that the sentence topic holds before ends has been looked up in the rows of every
// partition that is assigned here, its events durable.
func (c *Crew) WaitFor(ctx context.Context, ends []int64) error {
	return c.changed.wait(ctx, func() bool { return c.passed(ends) })
}

func (c *Crew) passed(ends []int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servesAll() && !slices.ContainsFunc(c.workers(), func(w *Worker) bool { return !w.progress.passed(ends) })
}

// servesAll reports whether no partition that is assigned waits for its turn; c is locked.
func (c *Crew) servesAll() bool {
	return !c.again && !slices.ContainsFunc(c.held, func(h *holding) bool { return h.assigned && h.partition == nil })
}

// WaitDeleted waits until no row of this process shows what was deleted before a position of the control topic, or ctx ends.
// It returns the partitions of which that is so.
func (c *Crew) WaitDeleted(ctx context.Context, before int64) []int {
	clean := []int{}
	_ = c.changed.wait(ctx, func() (all bool) { // whether ctx has ended shows in what is clean
		clean, all = c.cleanPartitions(before)
		return all
	})
	slices.Sort(clean)
	return clean
}

func (c *Crew) cleanPartitions(before int64) (clean []int, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all = c.servesAll()
	for _, w := range c.workers() {
		if w.deletedTo.Load() < before {
			w.controlAsked.Store(true)
			all = false
			continue
		}
		for _, q := range *w.serving.Load() {
			clean = append(clean, q.id)
		}
	}
	return clean, all
}

// EachMatch looks a sentence up in all rows of this process, as Worker.EachMatch does, and returns the partitions whose
// rows it has looked in and were complete.
func (c *Crew) EachMatch(ctx context.Context, x *feed.Sentence, least text.Threshold, found func(*feed.Match)) ([]int, error) {
	complete := []int{}
	for _, s := range c.servedNow() {
		there, err := s.match(ctx, x, least, found)
		if err != nil {
			return complete, err
		}
		if there && s.complete {
			complete = append(complete, s.id)
		}
	}
	slices.Sort(complete)
	return complete, nil
}

// served is a partition with rows.
type served struct {
	*partition
	complete bool
}

func (c *Crew) servedNow() (all []served) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.workers() {
		complete := w.CaughtUp()
		for _, q := range *w.serving.Load() {
			all = append(all, served{q, complete})
		}
	}
	return all
}

// Locked is Worker.Locked; it is false, and f not called, where the partition has no rows here.
func (c *Crew) Locked(id int, f func()) bool {
	all := c.servedNow()
	i := slices.IndexFunc(all, func(s served) bool { return s.id == id })
	return i >= 0 && all[i].locked(f)
}

// Needed is Worker.Needed for all partitions that are assigned here; nil while it is not known of one, or there is none:
// then nothing may be purged.
func (c *Crew) Needed() (needed []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.servesAll() {
		return nil
	}
	for _, w := range c.workers() {
		if needed == nil {
			needed = w.Needed()
		}
		needed = MinPositions(needed, w.Needed())
	}
	return needed
}

// ReplaysFrom is Worker.ReplaysFrom of all workers.
func (c *Crew) ReplaysFrom() map[int]int64 {
	all := map[int]int64{}
	for _, w := range c.Workers() {
		maps.Copy(all, w.ReplaysFrom())
	}
	return all
}

// Behind reports whether records wait longer than they do when all goes as it should.
func (c *Crew) Behind() bool { return slices.ContainsFunc(c.Workers(), (*Worker).Behind) }

// Trouble is that of the worker whose turns have failed longest; nil while all succeed.
func (c *Crew) Trouble() (longest *Trouble) {
	for _, w := range c.Workers() {
		if t := w.Trouble(); t != nil && (longest == nil || t.Since.Before(longest.Since)) {
			longest = t
		}
	}
	return longest
}

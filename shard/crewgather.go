package shard

import (
	"context"
	"errors"
	"slices"
	"time"
)

// maxAdoptLag is how far behind a worker may be whose partitions are taken over: the other one reads so much again.
const maxAdoptLag = 2 * time.Second

// gather lets the common workers take over what has caught up.
func (c *Crew) gather(ctx context.Context) error {
	var errs []error
	for _, w := range c.lateWorkers() {
		if !w.CaughtUp() || w.Lag() > maxAdoptLag {
			continue
		}
		if err := c.gatherOne(ctx, w); err != nil {
			c.log.Error("retrying to put partitions together", "error", err)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *Crew) lateWorkers() []*Worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.late)
}

// gatherOne gives the partitions of a worker to the common one that has the fewest. Where one has none, the worker takes its
// place.
func (c *Crew) gatherOne(ctx context.Context, late *Worker) error {
	number, to := c.smallest()
	if to != nil {
		return to.adopt(ctx, late, c.updateHoldings)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.common[number] = late
	late.cfg.number.Store(int64(number))
	c.late = slices.DeleteFunc(c.late, func(w *Worker) bool { return w == late })
	return nil
}

// updateHoldings runs move while nobody asks who has which partitions.
func (c *Crew) updateHoldings(move func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	move()
	c.clean()
	c.changed.send()
}

// smallest is the common worker with the fewest partitions, nil where there is none of that number.
func (c *Crew) smallest() (number int, w *Worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := func(w *Worker) int {
		if w == nil {
			return 0
		}
		return len(*w.serving.Load())
	}
	for i, w := range c.common {
		if size(w) < size(c.common[number]) {
			number = i
		}
	}
	return number, c.common[number]
}

package shard

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// maxLate bounds the workers that catch up at the same time: each reads everything, and has a queue.
const maxLate = 2

// openReady opens those that need wait no longer, all in one worker, or in the common ones where these are to begin.
func (c *Crew) openReady(ctx context.Context) error {
	waiting := c.holdings(func(h *holding) bool { return h.assigned && h.partition == nil })
	if len(waiting) == 0 {
		return nil
	}
	var ready []*holding
	for _, h := range waiting {
		mayBegin, err := c.mayBegin(ctx, h)
		if err != nil {
			return c.failed(waiting, err)
		}
		if mayBegin {
			ready = append(ready, h)
		}
	}
	if len(ready) == 0 || len(c.Workers()) >= c.cfg.Workers+maxLate {
		return nil
	}
	if err := c.failed(ready, c.openWhileTelling(ctx, ready)); err != nil {
		return err
	}
	c.tellNow()
	return nil
}

// openWhileTelling opens partitions and goes on telling the others what is owned here: large windows take longer to restore than
// these wait for a word of ours. Who does not Run the crew has it all in one goroutine.
func (c *Crew) openWhileTelling(ctx context.Context, all []*holding) error {
	if !c.runs() {
		return c.open(ctx, all)
	}
	opened := make(chan error, 1)
	go func() { opened <- c.open(ctx, all) }()
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-opened:
			return err
		case <-tick.C:
			_ = c.tell(ctx) // logged, and tried again
		}
	}
}

func (c *Crew) runs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run != nil
}

func (c *Crew) failed(all []*holding, err error) error {
	if err == nil {
		return nil
	}
	c.log.Error("retrying to take partitions over", "error", err)
	for _, h := range all {
		c.wait(h, "retrying: "+err.Error())
	}
	return err
}

func (c *Crew) wait(h *holding, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.waiting = what
}

// open opens partitions: dealt out to the common workers where there are none yet, else in a worker of their own.
func (c *Crew) open(ctx context.Context, all []*holding) error {
	if c.hasCommon() {
		return c.openWorkers(ctx, all, lateNumber, [][]int{indexes(len(all))})
	}
	return c.openWorkers(ctx, all, 0, Owners(len(all), min(len(c.common), len(all))))
}

func indexes(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func (c *Crew) hasCommon() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.common, func(w *Worker) bool { return w != nil })
}

// lateNumber is that of a worker that has to catch up.
const lateNumber = -1

// openWorkers opens some workers, the first with a number, and begins with them when there are all of them: those that share
// Redeliveries begin together.
func (c *Crew) openWorkers(ctx context.Context, all []*holding, first int, shares [][]int) error {
	var opened []*Worker
	for i, share := range shares {
		w, err := c.openWorker(ctx, first+i, all, share)
		if err != nil {
			for _, w := range opened {
				err = errors.Join(err, w.Close())
				c.goneAll(w.Owned())
			}
			return err
		}
		opened = append(opened, w)
	}
	for i, w := range opened {
		c.add(first+i, w)
	}
	return nil
}

func (c *Crew) openWorker(ctx context.Context, number int, all []*holding, share []int) (*Worker, error) {
	cfg := c.workerConfig(number)
	var made []int
	cfg.Rows = func(q int) (Rows, error) {
		made = append(made, q)
		return c.cfg.Rows(q)
	}
	for _, at := range share {
		cfg.Owned = append(cfg.Owned, all[at].id)
	}
	w, err := Open(ctx, cfg)
	if err != nil {
		c.goneAll(made)
	}
	return w, err
}

func (c *Crew) workerConfig(number int) Config {
	cfg := c.cfg.Worker
	cfg.progressed, cfg.number, cfg.Spent = c.changed, new(atomic.Int64), nil
	cfg.MaxQueue = max(1, cfg.MaxQueue/(c.cfg.Workers+maxLate))
	cfg.number.Store(int64(number))
	if spent := c.cfg.Spent; spent != nil {
		cfg.Spent = func(all []Spent) {
			if number := int(cfg.number.Load()); number != lateNumber {
				spent(number, all)
			}
		}
	}
	return cfg
}

// add begins with a worker.
func (c *Crew) add(number int, w *Worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range w.owned {
		at := slices.IndexFunc(c.held, func(h *holding) bool { return h.id == q.id })
		h := c.held[at]
		h.partition, h.epoch, h.waiting, h.superseded = q, q.epoch, "", false
	}
	if number == lateNumber {
		c.late = append(c.late, w)
	} else {
		c.common[number] = w
	}
	c.told = time.Time{}
	if c.run != nil {
		c.run(w)
	}
	c.changed.send()
}

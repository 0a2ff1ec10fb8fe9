package peers

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Record is what an owner puts into the store about itself, every few seconds.
type Record struct {
	Worker   string // its name
	Address  string
	Epoch    int64
	Released bool
	Put      time.Time // by its own clock: another one whenever it is put
}

// Directory knows who owns which partition.
type Directory struct {
	// Read reads what is put for a partition; nil: nobody ever owned it.
	Read func(ctx context.Context, partition int) (*Record, error)
	// Silence is after when an owner that puts nothing counts as gone, by the clock of this process.
	Silence time.Duration
	// Fresh is how long what was read is taken for true.
	Fresh time.Duration
	Now   func() time.Time

	once   sync.Once
	place  chan struct{} // for one: who waits for it gives up with its ctx
	known  []entry
	readAt time.Time // when the store answered last
	stale  bool      // one of those known has not answered
}

// entry is the newest record of a partition, and when it was first seen.
type entry struct {
	Record
	seen time.Time
}

// Owners are those of partitions 0 to n-1. Of a partition that two claim it is the one with the higher epoch: the other one
// has not heard that it lost it. While the store does not answer, those known last count.
func (d *Directory) Owners(ctx context.Context, n int) ([]Owner, error) {
	unlock, err := d.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	now := d.Now()
	if len(d.known) != n || d.stale || now.Sub(d.readAt) >= d.Fresh {
		if err := d.read(ctx, n, now); err != nil && len(d.known) != n {
			return nil, err
		}
	}
	owners := make([]Owner, n)
	for q, e := range d.known {
		silent := e.Released || e.Address != "" && d.readAt.Sub(e.seen) > d.Silence
		owners[q] = Owner{Worker: e.Worker, Address: e.Address, Epoch: e.Epoch, Silent: silent}
	}
	return owners, nil
}

func (d *Directory) acquire(ctx context.Context) (unlock func(), err error) {
	d.once.Do(func() { d.place = make(chan struct{}, 1) })
	select {
	case d.place <- struct{}{}:
		return func() { <-d.place }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// atOnce bounds the reads that are under way.
const atOnce = 8

func (d *Directory) read(ctx context.Context, n int, now time.Time) error {
	records := make([]*Record, n)
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for q := range records {
		all.Go(func() (err error) {
			records[q], err = d.Read(ctx, q)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if len(d.known) != n {
		d.known = make([]entry, n)
	}
	for q, r := range records {
		if e := &d.known[q]; r != nil && r.Epoch >= e.Epoch && *r != e.Record {
			*e = entry{*r, now}
		}
	}
	d.readAt, d.stale = now, false
	return nil
}

// Forget makes the next Owners read again: one of those known has not answered.
func (d *Directory) Forget(ctx context.Context) {
	if unlock, err := d.acquire(ctx); err == nil {
		d.stale = true
		unlock()
	}
}

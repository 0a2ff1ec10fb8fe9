package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"refrain/feed"
	"refrain/internal/check"
	"refrain/text"
)

// Crew runs the workers of one process over the partitions that it is assigned, which may change while it runs.
type Crew struct {
	cfg CrewConfig

	mu      sync.Mutex // guards what follows
	workers []*Worker
	held    []int
}

// CrewConfig says what a crew works on.
type CrewConfig struct {
	Worker  Config // of each of its workers; Owned and Rows are left out
	Workers int    // so many serve the partitions that have caught up, 1 or more

	// Rows makes the empty window of a partition that was gained, and Gone says that nobody uses it any more.
	Rows func(partition int) (Rows, error)
	Gone func(partition int) // nil: nobody asks

	// Fixed are the partitions from the start, where nobody else shares the topics: they are dealt out at once. Without,
	// the crew has none until it is assigned some.
	Fixed []int

	Name, Address string        // of this process, for the others: see Owner
	Grace         time.Duration // how long a partition that was gained is left to its last owner: it may come back
	OwnerEvery    time.Duration // how often the others are told what is owned here; 0: there are none
	Leave         bool          // once Run ends the partitions are given up: the process does not come back

	// Spent is Worker.Spent with the number of the worker, 0 to Workers-1; what a partition costs that has not caught up
	// is nobody's. Nil: nobody is told.
	Spent func(worker int, all []Spent)
}

// DefaultCrew is the configuration but for what the crew works on.
func DefaultCrew() CrewConfig {
	return CrewConfig{Worker: Default(), Workers: 1, Grace: time.Minute, OwnerEvery: 3 * time.Second}
}

// PartitionStatus is how a partition that is assigned stands.
type PartitionStatus struct {
	Partition int
	Epoch     int64     // 0: not taken over yet
	Since     time.Time // when it was assigned
	CaughtUp  bool      // what it finds is all that there is
	Waiting   string    // for what, in words; "" once it has caught up
}

func (c *CrewConfig) validate() error {
	return errors.Join(
		check.AtLeast(1, "workers", c.Workers), check.Set("rows", c.Rows != nil),
		check.Set("name", c.Name != "" || c.OwnerEvery == 0),
		check.AtLeast(0, "grace", int(c.Grace)), check.AtLeast(0, "owner every", int(c.OwnerEvery)),
	)
}

// OpenCrew makes a crew. Those of Fixed go on from what is stored of them.
func OpenCrew(ctx context.Context, cfg CrewConfig) (*Crew, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("open crew: %w", err)
	}
	c := &Crew{cfg: cfg, held: slices.Clone(cfg.Fixed)}
	for i, owned := range Owners(len(cfg.Fixed), min(cfg.Workers, len(cfg.Fixed))) {
		for at := range owned {
			owned[at] = cfg.Fixed[owned[at]]
		}
		w, err := Open(ctx, c.workerConfig(i, owned))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open crew: %w", err), c.Close())
		}
		c.workers = append(c.workers, w)
	}
	return c, nil
}

func (c *Crew) workerConfig(worker int, owned []int) Config {
	cfg := c.cfg.Worker
	cfg.Owned, cfg.Rows = owned, c.cfg.Rows
	if c.cfg.Spent != nil {
		cfg.Spent = func(all []Spent) { c.cfg.Spent(worker, all) }
	}
	return cfg
}

// Assign says which partitions are this process's from now on, all of them. It returns at once.
func (c *Crew) Assign(partitions []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = slices.Clone(partitions) // TODO
}

// Run serves what is assigned until ctx ends; then the workers finish their turns and store where they are. It gives up
// only where trying again cannot help.
func (c *Crew) Run(ctx context.Context) error {
	var all errgroup.Group
	for _, w := range c.Workers() {
		all.Go(func() error { return w.Run(ctx) })
	}
	return all.Wait()
}

// Close closes the workers of a crew that does not run.
func (c *Crew) Close() error {
	var errs []error
	for _, w := range c.Workers() {
		errs = append(errs, w.Close())
	}
	return errors.Join(errs...)
}

// Workers are those that there are now, to be asked about themselves.
func (c *Crew) Workers() []*Worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.workers)
}

// Partitions are those that are assigned, in rising order.
func (c *Crew) Partitions() []PartitionStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]PartitionStatus, 0, len(c.held))
	for _, q := range slices.Sorted(slices.Values(c.held)) {
		all = append(all, PartitionStatus{Partition: q, CaughtUp: true})
	}
	return all
}

// WaitFor returns nil once everything that the sentence topic holds before ends has been looked up in the rows of every
// partition that is assigned here, its events durable.
func (c *Crew) WaitFor(ctx context.Context, ends []int64) error {
	for _, w := range c.Workers() {
		if err := w.WaitFor(ctx, ends); err != nil {
			return err
		}
	}
	return nil
}

// EachMatch looks a sentence up in all rows of this process, as Worker.EachMatch does, and returns the partitions whose
// rows it has looked in and are complete.
func (c *Crew) EachMatch(ctx context.Context, x *feed.Sentence, least text.Threshold, found func(*feed.Match)) ([]int, error) {
	var in []int
	for _, w := range c.Workers() {
		if err := w.EachMatch(ctx, x, least, found); err != nil {
			return in, err
		}
		in = append(in, w.Owned()...)
	}
	return in, nil
}

// Locked is Worker.Locked; it is false, and f not called, where the partition has no rows here.
func (c *Crew) Locked(partition int, f func()) bool {
	for _, w := range c.Workers() {
		if slices.Contains(w.Owned(), partition) {
			w.Locked(partition, f)
			return true
		}
	}
	return false
}

// Needed is Worker.Needed for all partitions that are assigned here; nil while it is not known.
func (c *Crew) Needed() []int64 {
	var needed []int64
	for _, w := range c.Workers() {
		if needed == nil {
			needed = w.Needed()
		}
		needed = MinPositions(needed, w.Needed())
	}
	return needed
}

// Behind reports whether records wait longer than they do when all goes as it should.
func (c *Crew) Behind() bool { return slices.ContainsFunc(c.Workers(), (*Worker).Behind) }

package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"refrain/internal/check"
)

// Crew runs the workers of one process over the partitions that it is assigned, which may change while it runs.
//
// A partition that comes is left to its last owner for a while, then a worker of its own brings its rows back and looks up
// what was missed, with a reader of its own: the others do not wait. Once that worker has caught up, one of the common ones
// takes the partition over. A partition that goes is stored, whole, and only then offered to the others.
type Crew struct {
	cfg     CrewConfig
	now     func() time.Time
	log     *slog.Logger
	changed *broadcast // look-ups have got further, or other partitions are held
	wake    chan struct{}
	told    time.Time // when the others were last told what is owned here

	mu     sync.Mutex // guards what follows
	want   []int
	again  bool          // want is newer than what is held
	held   []*holding    // by rising partition
	common []*Worker     // by number; nil: it has no partition
	late   []*Worker     // that have not caught up
	run    func(*Worker) // starts a worker; nil: the crew does not run
}

// holding is a partition that is assigned here, or not given up yet.
type holding struct {
	id         int
	since      time.Time
	assigned   bool
	partition  *partition // nil: nobody serves it
	epoch      int64      // of the last owner that this process was; 0: it was none
	superseded bool       // another process has taken it over though it is assigned here
	quiet      time.Time  // since then its owner has put nothing
	owner      Owner      // as it was last read
	waiting    string
}

// CrewConfig says what a crew works on.
type CrewConfig struct {
	Worker  Config // of each of its workers; Owned and Rows are left out, and MaxQueue is of all of them together
	Workers int    // so many serve the partitions that have caught up, 1 or more

	// Rows makes the empty window of a partition that was gained, and Gone says that nobody uses it any more.
	Rows func(partition int) (Rows, error)
	Gone func(partition int) // nil: nobody asks

	// Fixed are the partitions from the start, where nobody else shares the topics: they are dealt out at once. Without,
	// the crew has none until it is assigned some.
	Fixed []int

	Name, Address string        // of this process, for the others: see Owner
	Mark          string        // of the deployment, for the others: those of another one have another
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
	n := cfg.Worker.Sentences.Partitions()
	var err error
	if cfg.Worker.Redeliveries, err = cfg.Worker.redeliveries(n); err != nil {
		return nil, fmt.Errorf("open crew: %w", err)
	}
	c := &Crew{
		cfg: cfg, now: cfg.Worker.Now, log: cfg.Worker.Logger, changed: newBroadcast(), wake: make(chan struct{}, 1),
		common: make([]*Worker, cfg.Workers),
	}
	c.cfg.Worker.Tombstones = cmp.Or(cfg.Worker.Tombstones, NewTombstones())
	if len(cfg.Fixed) == 0 {
		return c, nil
	}
	c.Assign(cfg.Fixed)
	c.update()
	if err := c.open(ctx, c.held); err != nil {
		return nil, errors.Join(fmt.Errorf("open crew: %w", err), c.Close())
	}
	return c, nil
}

// Assign says which partitions are this process's from now on, all of them. It returns at once.
func (c *Crew) Assign(partitions []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want, c.again = slices.Sorted(slices.Values(partitions)), true
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// tendEvery is how often a crew looks after its partitions.
const tendEvery = 250 * time.Millisecond

// Run serves what is assigned until ctx ends; then the workers finish their turns and store where they are. It gives up
// only where trying again cannot help.
func (c *Crew) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	c.start(func(w *Worker) {
		running.Go(func() {
			if err := w.Run(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
				cancel(err)
			}
		})
	})
	for ctx.Err() == nil {
		_ = c.tend(ctx) // logged, and tried again
		c.pause(ctx)
	}
	running.Wait()
	c.leave(context.WithoutCancel(ctx), len(errs) == 0)
	return errors.Join(errs...)
}

// start runs the workers that there are, and those that come.
func (c *Crew) start(run func(*Worker)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run = run
	for _, w := range c.workers() {
		run(w)
	}
}

func (c *Crew) pause(ctx context.Context) {
	pause := time.NewTimer(tendEvery)
	defer pause.Stop()
	select {
	case <-ctx.Done():
	case <-c.wake:
	case <-pause.C:
	}
}

// Step is a turn of everybody, for one who does not Run the crew: an error is of a worker's turn, and the next Step goes on.
func (c *Crew) Step(ctx context.Context) error {
	errs := []error{c.tend(ctx)}
	for _, w := range c.Workers() {
		errs = append(errs, w.Step(ctx))
	}
	return errors.Join(errs...)
}

// tend brings what is held closer to what is assigned. What fails is logged, and tried again next time.
func (c *Crew) tend(ctx context.Context) error {
	work := context.WithoutCancel(ctx)
	c.update()
	return errors.Join(c.giveUp(work), c.openReady(work), c.gather(work), c.tell(work))
}

// update notes what is assigned.
func (c *Crew) update() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.again {
		return
	}
	c.again = false
	for _, h := range c.held {
		h.assigned = slices.Contains(c.want, h.id)
		if h.superseded {
			h.superseded, h.since = false, c.now()
		}
	}
	for _, q := range c.want {
		if !slices.ContainsFunc(c.held, func(h *holding) bool { return h.id == q }) {
			c.held = append(c.held, &holding{id: q, since: c.now(), assigned: true})
		}
	}
	slices.SortFunc(c.held, func(a, b *holding) int { return cmp.Compare(a.id, b.id) })
	c.changed.send()
}

// holdings are those for which is holds.
func (c *Crew) holdings(is func(*holding) bool) (all []*holding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.held {
		if is(h) {
			all = append(all, h)
		}
	}
	return all
}

// giveUp lets go what is assigned no more.
func (c *Crew) giveUp(ctx context.Context) error {
	var errs []error
	for _, h := range c.holdings(func(h *holding) bool { return !h.assigned }) {
		if err := c.giveUpOne(ctx, h); err != nil {
			c.log.Error("retrying to give a partition up", "partition", h.id, "error", err)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// giveUpOne stores the state first, and then tells the others.
func (c *Crew) giveUpOne(ctx context.Context, h *holding) error {
	if h.partition != nil {
		if err := c.workerOf(h).release(ctx, h.partition); err != nil {
			return err
		}
		c.drop(h)
	}
	if h.epoch > 0 {
		if err := c.putReleased(ctx, h); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = slices.DeleteFunc(c.held, func(o *holding) bool { return o == h })
	c.changed.send()
	return nil
}

// drop notes that nobody here serves a partition any more.
func (c *Crew) drop(h *holding) {
	c.mu.Lock()
	h.partition = nil
	c.clean()
	c.changed.send()
	c.mu.Unlock()
	c.goneAll([]int{h.id})
}

func (c *Crew) goneAll(partitions []int) {
	for _, q := range partitions {
		if c.cfg.Gone != nil {
			c.cfg.Gone(q)
		}
	}
}

// clean forgets the workers that have no partition any more.
func (c *Crew) clean() {
	for i, w := range c.common {
		if w != nil && w.isEmpty() {
			c.common[i] = nil
		}
	}
	c.late = slices.DeleteFunc(c.late, (*Worker).isEmpty)
}

// leave ends what Run began. Those that leave for good offer their partitions to the others.
func (c *Crew) leave(ctx context.Context, stored bool) {
	c.mu.Lock()
	c.run = nil
	c.mu.Unlock()
	if !c.cfg.Leave || !stored || c.cfg.OwnerEvery == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, h := range c.holdings(func(h *holding) bool { return h.epoch > 0 }) {
		if err := c.putReleased(ctx, h); err != nil {
			c.log.Warn("a partition is not offered to the others: they wait for handover_grace", "partition", h.id, "error", err)
		}
	}
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
	return c.workers()
}

func (c *Crew) workers() (all []*Worker) {
	for _, w := range c.common {
		if w != nil {
			all = append(all, w)
		}
	}
	return append(all, c.late...)
}

// workerOf is who serves a partition.
func (c *Crew) workerOf(h *holding) *Worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servedBy(h)
}

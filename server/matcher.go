package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"refrain/api"
	"refrain/detector"
	"refrain/feed"
	"refrain/models"
	"refrain/shard"
	"refrain/text"
)

// matcher is the role match: the crew of workers over the partitions that this process owns, and their windows.
type matcher struct {
	n            *node
	budget       int64           // of all windows together
	window       detector.Config // of one partition
	redeliveries *shard.Redeliveries
	snapshots    *shard.Snapshots // nil: there are none
	crew         *shard.Crew
	registry     *models.Registry
	models       *models.Keeper
	slots        []*windowSlot // by partition

	mu        sync.Mutex
	detectors map[int]*detector.Partition // by partition, of those that are here
	margins   []replayMargin
	onlyCopy  rate.Sometimes // that a topic lacks what is in a window
	here      atomic.Int64   // their number
	assigned  atomic.Bool    // it is known which partitions are this process's
	gained    atomic.Int64   // windows that were begun since the start
}

// openMatcher makes a crew. Where nobody shares the topics it has all partitions at once, else none yet.
func (n *node) openMatcher(ctx context.Context) (err error) {
	m := &matcher{n: n, window: n.window, detectors: map[int]*detector.Partition{}, onlyCopy: rate.Sometimes{Interval: 10 * time.Minute}}
	n.match = m
	if err := m.openModels(); err != nil {
		return err
	}
	if err := m.openRedeliveries(); err != nil {
		return err
	}
	m.shareLimits()
	if err := m.openSnapshots(); err != nil {
		return err
	}
	if m.crew, err = shard.OpenCrew(ctx, m.crewConfig()); err != nil {
		return err
	}
	return errors.Join(m.openKeeper(), m.observe(), m.observeWorkers(), m.observeGPUs(), m.observePartitions(), m.observeMargins())
}

// openRedeliveries opens what the workers learn from which posts were redelivered. Like what is known of deletions it lives
// within the budget of the windows.
func (m *matcher) openRedeliveries() (err error) {
	const share = 4 // of the budget it has at most one in so many parts
	p := m.n.cfg.Topics.Partitions
	m.redeliveries, err = shard.NewRedeliveries(shard.RedeliveryConfig{
		Partitions: p, Within: m.n.cfg.Window.Redelivery, Budget: m.window.Budget / share, Logger: m.n.log,
	})
	return err
}

func (m *matcher) crewConfig() shard.CrewConfig {
	c, cfg := shard.DefaultCrew(), &m.n.cfg
	c.Worker, c.Workers, c.Rows, c.Gone = m.workerConfig(), min(cfg.Workers, cfg.Topics.Partitions), m.rows, m.gone
	c.Spent = m.n.quotas.spent
	if !cfg.onBroker() {
		c.OwnerEvery, c.Fixed = 0, make([]int, cfg.Topics.Partitions)
		for q := range c.Fixed {
			c.Fixed[q] = q
		}
		return c
	}
	if m.n.strangers != nil {
		c.Mark = m.n.strangers.mark
	}
	c.Name, c.Address, c.Grace = cfg.worker(), cfg.address(m.n.listening), cfg.Cluster.HandoverGrace
	return c
}

func (m *matcher) workerConfig() shard.Config {
	n, cfg := m.n, shard.Default()
	cfg.Sentences, cfg.Events, cfg.Control, cfg.Store = n.sentences, n.disk.on(n.events), n.control, n.store
	cfg.DeadLetters, cfg.Caused = n.deadEvents, n.quotas.caused
	cfg.Redeliveries, cfg.Tombstones, cfg.Deployment = m.redeliveries, n.tombstones, n.cfg.deployment()
	cfg.Snapshots = m.snapshots
	cfg.Span, cfg.Lateness, cfg.MaxHold, cfg.Retention = n.window.Span, n.window.Lateness, n.cfg.Window.MaxHold, max(n.ages())
	cfg.ControlPoll = n.followEvery()
	if n.canaries != nil {
		cfg.Canary = n.canaries.enqueue
	}
	if n.cfg.onKafka() {
		cfg.Delta = kafkaStampsApart()
	}
	cfg.Silence = n.cfg.Silence
	cfg.Commit, cfg.TextVersion, cfg.Now, cfg.Logger = time.Second, text.Version, n.now, n.log
	return cfg
}

// rows makes the empty window of a partition that was gained.
func (m *matcher) rows(q int) (shard.Rows, error) {
	cfg := m.window
	cfg.Model = m.slots[q].current()
	d, err := detector.NewPartition(cfg)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.detectors[q] = d
	m.here.Store(int64(len(m.detectors)))
	m.gained.Add(1)
	return d, nil
}

// gone drops the window of a partition that was lost. A GPU may take its time to give the window back, for which metrics do not
// wait.
func (m *matcher) gone(q int) {
	if d := m.remove(q); d != nil {
		d.Release()
	}
}

// remove is the window of a partition, which is not among those here any more; nil where there was none.
func (m *matcher) remove(q int) *detector.Partition {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.detectors[q]
	delete(m.detectors, q)
	m.here.Store(int64(len(m.detectors)))
	return d
}

// windows are those that are here, by rising partition.
func (m *matcher) windows() []*detector.Partition {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*detector.Partition, 0, len(m.detectors))
	for _, q := range slices.Sorted(maps.Keys(m.detectors)) {
		all = append(all, m.detectors[q])
	}
	return all
}

func (m *matcher) detector(q int) *detector.Partition {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.detectors[q]
}

// reserved is what a window may not use of the budget: the share of the others, and of what they have in common.
func (m *matcher) reserved() int64 {
	return m.budget - (m.budget-m.redeliveries.Bytes()-m.n.tombstones.Bytes())/max(1, m.here.Load())
}

// run serves what is assigned until ctx ends. Where others share the topics the partitions are dealt out among all.
func (m *matcher) run(ctx context.Context) error {
	if !m.n.cfg.onBroker() {
		return m.crew.Run(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var both errgroup.Group
	both.Go(func() error {
		defer cancel()
		return m.follow(ctx)
	})
	both.Go(func() error {
		defer cancel()
		return m.crew.Run(ctx)
	})
	return both.Wait()
}

// follow assigns to the crew what is dealt to this process. It leaves the group once the crew has been told to stop.
func (m *matcher) follow(ctx context.Context) error {
	group, err := m.n.joinRetrying(ctx, "match", m.n.cfg.Topics.Partitions)
	if err != nil {
		return nil // ctx has ended
	}
	defer func() { _ = group.Close() }() // others wait until it counts as dead, then
	for {
		parts, err := group.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("partitions: %w", err)
		}
		m.n.log.Info("partitions assigned", "partitions", parts)
		m.crew.Assign(parts)
		m.assigned.Store(true)
	}
}

// fails reports whether turns of a worker fail.
func (m *matcher) fails() bool {
	return slices.ContainsFunc(m.crew.Workers(), func(w *shard.Worker) bool { return w.Trouble() != nil })
}

// lag is how far the worker is behind that is furthest.
func (m *matcher) lag() (longest time.Duration) {
	for _, w := range m.crew.Workers() {
		longest = max(longest, w.Lag())
	}
	return longest
}

// waits is how long the oldest record has waited for its look-ups.
func (m *matcher) waits() (longest time.Duration) {
	for _, w := range m.crew.Workers() {
		longest = max(longest, w.Waits())
	}
	return longest
}

// lookedUpTo is the stamp up to which all workers have looked records up; the zero time while there is none.
func (m *matcher) lookedUpTo() (first time.Time) {
	for i, w := range m.crew.Workers() {
		if t := w.LookedUpTo(); i == 0 || t.Before(first) {
			first = t
		}
	}
	return first
}

// heldBy is the source partition furthest behind of those that hold the clock of a window; nil: none does.
func (m *matcher) heldBy() (furthest *shard.Held) {
	for _, w := range m.crew.Workers() {
		if h := w.HeldBy(); h != nil && (furthest == nil || h.Behind > furthest.Behind) {
			furthest = h
		}
	}
	return furthest
}

// feedNow is just after the newest post in the windows: a feed may be a replay of years ago.
func (m *matcher) feedNow() feed.Time {
	var newest feed.Time
	for _, d := range m.windows() {
		newest = max(newest, d.Newest())
	}
	if newest == 0 {
		return feed.FromTime(m.n.now())
	}
	return newest + 1
}

func (m *matcher) total() detector.Totals { return detector.Total(m.windows()) }

// lookUp looks a sentence up in the rows that are here, as far as there is room in the answer. It returns the partitions that
// it has looked in.
func (m *matcher) lookUp(ctx context.Context, x feed.Sentence, least text.Threshold, out *api.Sentence,
	remaining *answerSpace) ([]int, error) {
	return m.crew.EachMatch(ctx, &x, least, func(m *feed.Match) {
		if remaining.isUsedUp() {
			out.Truncated = true
			return
		}
		remaining.use(m)
		out.Matches = append(out.Matches, *m)
	})
}

func (m *matcher) close() (err error) {
	if m.models != nil {
		m.models.Close()
	}
	if m.crew != nil {
		err = m.crew.Close()
	}
	if m.snapshots != nil {
		m.snapshots.Close()
	}
	return err
}

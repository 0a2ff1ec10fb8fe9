package server

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"refrain/api"
	"refrain/detector"
	"refrain/feed"
	"refrain/models"
	"refrain/shard"
	"refrain/text"
	"refrain/topic"
)

// matcher is the role match: the workers of this process, and the windows of the partitions that they own.
type matcher struct {
	n            *node
	budget       int64 // of all windows together
	window       detector.Config
	detectors    []*detector.Partition // by partition
	redeliveries *shard.Redeliveries
	workers      []*shard.Worker
	registry     *models.Registry
	models       *models.Keeper
}

// openMatcher makes empty windows, and workers that go on from what is stored of their partitions.
func (n *node) openMatcher(ctx context.Context) error {
	m := &matcher{n: n, window: n.window}
	n.match = m
	if err := m.openModels(); err != nil {
		return err
	}
	if err := m.openDetectors(); err != nil {
		return err
	}
	if err := n.openCanaries(ctx); err != nil {
		return err
	}
	if err := m.openWorkers(ctx); err != nil {
		return err
	}
	return m.openKeeper()
}

// openDetectors makes an empty window for each partition.
func (m *matcher) openDetectors() error {
	if err := m.openRedeliveries(); err != nil {
		return err
	}
	m.shareLimits()
	for range m.n.cfg.Topics.Partitions {
		d, err := detector.NewPartition(m.window)
		if err != nil {
			return err
		}
		m.detectors = append(m.detectors, d)
	}
	return nil
}

// openRedeliveries opens what the workers learn from which posts were redelivered. Like what is known of deletions it lives
// within the budget of the windows.
func (m *matcher) openRedeliveries() (err error) {
	const share = 4 // of the budget it has at most one in so many parts
	p := m.n.cfg.Topics.Partitions
	m.redeliveries, err = shard.NewRedeliveries(shard.RedeliveryConfig{
		Partitions: p, Within: m.n.cfg.Window.Redelivery, Budget: m.window.Budget / share, Logger: m.n.log,
	})
	m.window.Reserved = func() int64 { return (m.redeliveries.Bytes() + m.n.tombstones.Bytes()) / int64(p) }
	return err
}

func (m *matcher) openWorkers(ctx context.Context) error {
	workers := min(m.n.cfg.Workers, m.n.cfg.Topics.Partitions)
	for i, owned := range shard.Owners(m.n.cfg.Topics.Partitions, workers) {
		w, err := shard.Open(ctx, m.workerConfig(i, owned))
		if err != nil {
			return err
		}
		m.workers = append(m.workers, w)
	}
	return nil
}

func (m *matcher) workerConfig(worker int, owned []int) shard.Config {
	n := m.n
	cfg := shard.Default()
	cfg.Sentences, cfg.Events, cfg.Control, cfg.Store = n.sentences, n.disk.on(n.events), n.control, n.store
	cfg.DeadLetters, cfg.Caused, cfg.Spent = n.deadEvents, n.quotas.caused, func(s []shard.Spent) { n.quotas.spent(worker, s) }
	cfg.Rows = func(q int) (shard.Rows, error) { return m.detectors[q], nil }
	cfg.Owned, cfg.Redeliveries, cfg.Tombstones, cfg.Deployment = owned, m.redeliveries, n.tombstones, n.cfg.deployment()
	cfg.Span, cfg.Lateness, cfg.MaxHold, cfg.Retention = n.window.Span, n.window.Lateness, n.cfg.Window.MaxHold, max(n.ages())
	if n.canaries != nil {
		cfg.Canary = n.canaries.enqueue
	}
	cfg.Commit, cfg.TextVersion, cfg.Now, cfg.Logger = time.Second, text.Version, n.now, n.log
	return cfg
}

// run takes turns until ctx ends.
func (m *matcher) run(ctx context.Context, failed func(error) error) error {
	var all errgroup.Group
	for _, w := range m.workers {
		all.Go(func() error { return failed(w.Run(ctx)) })
	}
	return all.Wait()
}

// behind reports whether posts wait to be looked up: then what can wait should.
func (m *matcher) behind() bool { return slices.ContainsFunc(m.workers, (*shard.Worker).Behind) }

// fails reports whether turns of a worker fail.
func (m *matcher) fails() bool {
	return slices.ContainsFunc(m.workers, func(w *shard.Worker) bool { return w.Trouble() != nil })
}

// waitFor waits until everything before ends is looked up, its events in the event topic.
func (m *matcher) waitFor(ctx context.Context, ends []int64) error {
	for _, w := range m.workers {
		if err := w.WaitFor(ctx, ends); err != nil {
			return err
		}
	}
	return nil
}

// lag is how far the worker is behind that is furthest.
func (m *matcher) lag() (longest time.Duration) {
	for _, w := range m.workers {
		longest = max(longest, w.Lag())
	}
	return longest
}

// waits is how long the oldest record has waited for its look-ups.
func (m *matcher) waits() (longest time.Duration) {
	for _, w := range m.workers {
		longest = max(longest, w.Waits())
	}
	return longest
}

// lookedUpTo is the stamp up to which all workers have looked records up.
func (m *matcher) lookedUpTo() time.Time {
	first := m.workers[0].LookedUpTo()
	for _, w := range m.workers[1:] {
		if t := w.LookedUpTo(); t.Before(first) {
			first = t
		}
	}
	return first
}

// needed are the positions below which no worker needs a record any more.
func (m *matcher) needed() []int64 {
	needed := m.workers[0].Needed()
	for _, w := range m.workers[1:] {
		needed = shard.MinPositions(needed, w.Needed())
	}
	return needed
}

// heldBy is the source partition furthest behind of those that hold the clock of a window; nil: none does.
func (m *matcher) heldBy() (furthest *shard.Held) {
	for _, w := range m.workers {
		if h := w.HeldBy(); h != nil && (furthest == nil || h.Behind > furthest.Behind) {
			furthest = h
		}
	}
	return furthest
}

// feedNow is just after the newest post in the windows: a feed may be a replay of years ago.
func (m *matcher) feedNow() feed.Time {
	var newest feed.Time
	for _, d := range m.detectors {
		newest = max(newest, d.Newest())
	}
	if newest == 0 {
		return feed.FromTime(time.Now())
	}
	return newest + 1
}

func (m *matcher) total() detector.Totals { return detector.Total(m.detectors) }

// lookUp looks a sentence up in the rows of all workers, as far as there is room in the answer.
func (m *matcher) lookUp(ctx context.Context, x feed.Sentence, least text.Threshold, out *api.Sentence,
	remaining *answerSpace) error {
	for _, w := range m.workers {
		err := w.EachMatch(ctx, &x, least, func(m *feed.Match) {
			if remaining.isUsedUp() {
				out.Truncated = true
				return
			}
			remaining.use(m)
			out.Matches = append(out.Matches, *m)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *matcher) close() (errs []error) {
	for _, w := range m.workers {
		errs = append(errs, w.Close())
	}
	return errs
}

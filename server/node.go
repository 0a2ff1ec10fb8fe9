package server

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"golang.org/x/time/rate"

	"refrain/detector"
	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/datadir"
	"refrain/internal/retry"
	"refrain/models"
	"refrain/shard"
	"refrain/sigstore"
	"refrain/split"
	"refrain/text"
	"refrain/topic"
	"refrain/topic/jetstream"
)

// node is one process of the service: its topics, and the roles that stand between them.
type node struct {
	cfg    Config
	log    *slog.Logger
	now    func() time.Time
	server *jetstream.Server
	disk   disk

	sentences, events, control *jetstream.Topic
	store                      *jetstream.Store // states of the workers, cursors of the sinks

	deadEvents deadEvents
	space      space
	quotas     *quotas
	caughtUp   atomic.Bool

	window       detector.Config
	budget       int64                 // of all windows together
	detectors    []*detector.Partition // by partition
	redeliveries *shard.Redeliveries
	// tombstones are what the workers know of deletions.
	tombstones *shard.Tombstones
	split      *split.Split
	workers    []*shard.Worker
	registry   *models.Registry
	models     *models.Keeper
	canaries   *canaries // nil: there are none

	health        *health
	healthMetrics metric.Registration
	wasFull       bool           // what checkRoom said last
	holding       rate.Sometimes // how often logHeld logs
}

// disk is what a test puts between the route and its topics, as a disk that is slow.
type disk func(topic.Topic) topic.Topic

// on is the topic as the route sees it.
func (d disk) on(t topic.Topic) topic.Topic {
	if d == nil {
		return t
	}
	return d(t)
}

// openNode opens the data directory and everything on it. What fails is closed again.
func openNode(ctx context.Context, cfg Config, now func() time.Time, disk disk, quotas *quotas) (*node, error) {
	n := &node{
		cfg: cfg, log: cfg.Logger, now: now, disk: disk, quotas: quotas, holding: rate.Sometimes{Interval: 10 * time.Minute},
	}
	if err := n.open(ctx); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *node) open(ctx context.Context) (err error) {
	if n.window, err = windowConfig(n.cfg.Window, n.log); err != nil {
		return err
	}
	storage := jetstream.Default()
	storage.Dir, storage.Claim, storage.Sync, storage.Logger = n.cfg.DataDir, datadir.Claim, n.cfg.Topics.Sync, n.log
	if n.server, err = jetstream.Start(storage); err != nil {
		return err
	}
	if err := n.limitTopics(ctx); err != nil {
		return err
	}
	if err := n.openTopics(ctx); err != nil {
		return err
	}
	if n.deadEvents.DeadLetters, err = n.openDeadLetters("events", "dead-events.jsonl"); err != nil {
		return err
	}
	if n.store, err = n.server.OpenStore(ctx, "state"); err != nil {
		return err
	}
	if n.window.AuthorKey, err = authorKey(ctx, n.store); err != nil {
		return err
	}
	if n.split, err = n.openSplit(); err != nil {
		return err
	}
	if err := n.openModels(); err != nil {
		return err
	}
	if err := n.openDetectors(); err != nil {
		return err
	}
	if err := n.openCanaries(ctx); err != nil {
		return err
	}
	if err := n.openWorkers(ctx); err != nil {
		return err
	}
	return errors.Join(n.openKeeper(), n.observe(), n.observeTombstones(), n.observeWorkers(), n.observeLosses(),
		n.openSpace(ctx))
}

func (n *node) openSplit() (*split.Split, error) {
	cfg := split.Default()
	cfg.Sentences, cfg.Control, cfg.Logger = n.disk.on(n.sentences), n.control, n.log
	cfg.MinTokens, cfg.Lateness, cfg.MaxHold = n.cfg.Window.MinTokens, n.window.Lateness, n.cfg.Window.MaxHold
	cfg.Now = n.now
	return split.New(cfg)
}

// openDetectors makes an empty window for each partition.
func (n *node) openDetectors() error {
	if err := n.openRedeliveries(); err != nil {
		return err
	}
	n.shareLimits()
	for range n.cfg.Topics.Partitions {
		d, err := detector.NewPartition(n.window)
		if err != nil {
			return err
		}
		n.detectors = append(n.detectors, d)
	}
	return nil
}

// openRedeliveries opens what the workers learn from which posts were redelivered, and which are deleted. Both live
// within the budget of the windows.
func (n *node) openRedeliveries() (err error) {
	const share = 4 // of the budget it has at most one in so many parts
	p := n.cfg.Topics.Partitions
	n.redeliveries, err = shard.NewRedeliveries(shard.RedeliveryConfig{
		Partitions: p, Within: n.cfg.Window.Redelivery, Budget: n.window.Budget / share, Logger: n.log,
	})
	n.tombstones = shard.NewTombstones()
	n.window.Reserved = func() int64 { return (n.redeliveries.Bytes() + n.tombstones.Bytes()) / int64(p) }
	return err
}

func (n *node) openWorkers(ctx context.Context) error {
	workers := min(n.cfg.Workers, n.cfg.Topics.Partitions)
	for i, owned := range shard.Owners(n.cfg.Topics.Partitions, workers) {
		w, err := shard.Open(ctx, n.workerConfig(i, owned))
		if err != nil {
			return err
		}
		n.workers = append(n.workers, w)
	}
	return nil
}

// authorKey is the deployment's, made when it starts for the first time.
func authorKey(ctx context.Context, store topic.Store) (key sigstore.AuthorKey, err error) {
	const name = "authors/key"
	stored, err := store.Get(ctx, name)
	if err != nil {
		return key, err
	}
	if len(stored) == len(key) {
		return sigstore.AuthorKey(stored), nil
	}
	rand.Read(key[:])
	return key, store.Put(ctx, name, key[:])
}

func (n *node) workerConfig(worker int, owned []int) shard.Config {
	cfg := shard.Default()
	cfg.Sentences, cfg.Events, cfg.Control, cfg.Store = n.sentences, n.disk.on(n.events), n.control, n.store
	cfg.DeadLetters, cfg.Caused, cfg.Spent = n.deadEvents, n.quotas.caused, func(s []shard.Spent) { n.quotas.spent(worker, s) }
	cfg.Rows = func(q int) (shard.Rows, error) { return n.detectors[q], nil }
	cfg.Owned, cfg.Redeliveries, cfg.Tombstones, cfg.Deployment = owned, n.redeliveries, n.tombstones, n.cfg.deployment()
	cfg.Span, cfg.Lateness, cfg.MaxHold, cfg.Retention = n.window.Span, n.window.Lateness, n.cfg.Window.MaxHold, max(n.ages())
	if n.canaries != nil {
		cfg.Canary = n.canaries.enqueue
	}
	cfg.Commit, cfg.TextVersion, cfg.Now, cfg.Logger = time.Second, text.Version, n.now, n.log
	return cfg
}

// catchUp notes when all that the topic held at the start is looked up.
func (n *node) catchUp(ctx context.Context) error {
	for n.flush(ctx) != nil {
		if retry.Sleep(ctx, time.Second) != nil {
			return nil
		}
	}
	n.caughtUp.Store(true)
	return nil
}

// stands reports whether look-ups wait for what was there before the start, or for turns that fail.
func (n *node) stands() bool {
	return !n.caughtUp.Load() || slices.ContainsFunc(n.workers, func(w *shard.Worker) bool { return w.Trouble() != nil })
}

// flush waits until everything that the sentence topic holds now is through, its events in the event topic.
func (n *node) flush(ctx context.Context) error {
	_, ends, err := n.sentences.Bounds(ctx)
	if err != nil {
		return err
	}
	for _, w := range n.workers {
		if err := w.WaitFor(ctx, ends); err != nil {
			return err
		}
	}
	return nil
}

// openDeadLetters opens a file of dead letters in the data directory.
func (n *node) openDeadLetters(name, file string) (*ingest.DeadLetters, error) {
	return ingest.OpenDeadLetters(ingest.DeadLetterConfig{
		Name: name, Path: filepath.Join(n.cfg.DataDir, file),
		MaxBytes: int64(n.cfg.DeadLetters.Bytes), Old: n.cfg.DeadLetters.Files, Logger: n.log,
	})
}

func (n *node) close() error {
	var errs []error
	for _, w := range n.workers {
		errs = append(errs, w.Close())
	}
	if n.canaries != nil && n.canaries.metrics != nil {
		n.canaries.metrics.close()
	}
	if n.healthMetrics != nil {
		errs = append(errs, n.healthMetrics.Unregister())
	}
	if n.server != nil {
		errs = append(errs, n.server.Close())
	}
	if n.deadEvents.DeadLetters != nil {
		errs = append(errs, n.deadEvents.Close())
	}
	return errors.Join(errs...)
}

// behind reports whether posts wait to be looked up: then what can wait should.
func (n *node) behind() bool { return slices.ContainsFunc(n.workers, (*shard.Worker).Behind) }

// feedNow is just after the newest post in the windows: a feed may be a replay of years ago.
func (n *node) feedNow() feed.Time {
	var newest feed.Time
	for _, d := range n.detectors {
		newest = max(newest, d.Newest())
	}
	if newest == 0 {
		return feed.FromTime(time.Now())
	}
	return newest + 1
}

// live says why the process cannot go on.
func (n *node) live(context.Context) error { return n.server.Check() }

// isDeleted reports whether a post, or its author, was deleted: events made at that time that show it are not replayed.
func (n *node) isDeleted(p feed.Name, made time.Time) bool { return n.tombstones.Deleted(p, made) }

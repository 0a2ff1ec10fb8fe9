package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"golang.org/x/time/rate"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/peers"
	"refrain/internal/retry"
	"refrain/shard"
	"refrain/sigstore"
	"refrain/split"
	"refrain/topic"
)

// node is one process of the service: its topics, and the roles that stand between them.
type node struct {
	cfg       Config
	listening string // the address of the HTTP server
	log       *slog.Logger
	now       func() time.Time
	broker    broker
	start     *startBroker // the same, where others keep it; nil: they do not
	disk      disk
	copying   bool        // records keep the stamps that they had
	waiting   func(error) // is told what the start waits for

	sentences, events, control openTopic
	store                      topic.Store // states of the workers, cursors of the sinks

	deadEvents  deadEvents
	letterDrops []*letterDrops // of topics of dead letters
	space       space
	quotas      *quotas
	caughtUp    atomic.Bool
	clockAhead  atomic.Int64 // of the broker's, in nanoseconds; see watchClock

	window detector.Config
	dealer *detector.Dealer // of its engines; nil without windows
	isOpen bool             // and so the dealer is ours to close
	// tombstones are what is known of deletions.
	tombstones *shard.Tombstones
	follower   *shard.Follower // feeds them where the topics are shared

	// What belongs to one role; nil without it.
	memberships memberships
	strangers   *strangers       // who shares the topics by mistake; nil: nobody can
	owners      *owners          // of the partitions, elsewhere too; nil: all are here
	directory   *peers.Directory // with owners: where they are
	asker       *peers.Asker
	partial     metric.Int64Counter // answers that lack partitions
	split       *split.Split
	match       *matcher
	canaries    *canaries // of split and match together; nil: there are none

	health   *health
	observed []metric.Registration // until close
	wasFull  bool                  // what checkRoom said last
	holding  rate.Sometimes        // how often logHeld logs
	missing  rate.Sometimes        // and lookUpEverywhere
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

// openNode opens the data directory, or what others share with us, and everything on it. What fails is closed again. For a
// broker that is not there, or is choosing its leaders, it waits, and tells waiting why.
func openNode(ctx context.Context, cfg Config, now func() time.Time, disk disk, quotas *quotas, listening string,
	waiting func(error)) (*node, error) {
	// Before what takes long: a GPU that is missing is told at once. And once, however often the broker is tried.
	dealer, err := openDealer(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	newNode := func() *node {
		return &node{
			cfg: cfg, log: cfg.Logger, now: now, disk: disk, quotas: quotas, listening: listening, waiting: waiting, dealer: dealer,
			holding: rate.Sometimes{Interval: 10 * time.Minute}, missing: rate.Sometimes{Interval: time.Minute},
		}
	}
	n, err := tryNode(ctx, newNode, waiting)
	if err != nil && dealer != nil {
		err = errors.Join(err, dealer.Close())
	}
	return n, err
}

// tryNode opens nodes until one is open.
func tryNode(ctx context.Context, newNode func() *node, waiting func(error)) (*node, error) {
	for pauses := retry.Steady(); ; {
		n := newNode()
		cfg := &n.cfg
		err := n.open(ctx)
		if err == nil {
			n.opened()
			return n, nil
		}
		err = errors.Join(err, n.close())
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
		if !cfg.onBroker() || !isTemporary(err) && !isStranger(err) {
			return nil, err
		}
		pause := pauses.NextBackOff()
		waiting(err)
		what := "waiting for the broker of the topics"
		if isStranger(err) {
			what = "waiting for another deployment to end"
		}
		cfg.Logger.Warn(what, "error", err, "pause", pause)
		if stopped := retry.Sleep(ctx, pause); stopped != nil {
			return nil, errors.Join(stopped, err)
		}
	}
}

// opened is called when all is open.
func (n *node) opened() {
	n.isOpen = true
	if n.start != nil {
		n.start.opened.Store(true)
	}
}

func (n *node) open(ctx context.Context) (err error) {
	if n.window, err = windowConfig(n.cfg.Window, n.log); err != nil {
		return err
	}
	n.window.Dealer = n.dealer
	if n.broker, err = n.openBroker(ctx); err != nil {
		return err
	}
	if n.cfg.onBroker() {
		n.start = &startBroker{broker: n.broker, n: n}
		n.broker = n.start
	}
	if err := n.limitTopics(ctx); err != nil {
		return err
	}
	if err := n.openTopics(ctx); err != nil {
		return err
	}
	if n.deadEvents.DeadLetters, err = n.openDeadLetters(ctx, deadSunk); err != nil {
		return err
	}
	if n.store, err = n.broker.openStore(ctx, "state"); err != nil {
		return err
	}
	if n.cfg.onBroker() {
		if err := n.refuseStrangers(ctx); err != nil {
			return err
		}
	}
	if n.window.AuthorKey, err = authorKey(ctx, n.store); err != nil {
		return err
	}
	n.tombstones = shard.NewTombstones()
	if n.cfg.onBroker() {
		n.owners = newOwners(n)
		if err := n.openPeers(); err != nil {
			return err
		}
		if err := n.openFollower(ctx); err != nil {
			return err
		}
	}
	if n.cfg.has(roleSplit) {
		if n.split, err = n.openSplit(); err != nil {
			return err
		}
	}
	if err := n.openCanaries(ctx); err != nil {
		return err
	}
	if n.cfg.has(roleMatch) {
		if err := n.openMatcher(ctx); err != nil {
			return err
		}
	}
	return errors.Join(n.observeTombstones(), n.observeLosses(), n.observeClock(), n.openSpace(ctx))
}

func (n *node) openSplit() (*split.Split, error) {
	cfg := split.Default()
	cfg.Sentences, cfg.Control, cfg.Logger = n.disk.on(n.sentences), n.control, n.log
	cfg.MinTokens, cfg.Lateness, cfg.MaxHold = n.cfg.Window.MinTokens, n.window.Lateness, n.cfg.Window.MaxHold
	cfg.Now = n.now
	return split.New(cfg)
}

const authorKeyName = "authors/key"

// authorKey is the deployment's, made when it starts for the first time.
func authorKey(ctx context.Context, store topic.Store) (key sigstore.AuthorKey, err error) {
	stored, err := store.Get(ctx, authorKeyName)
	if err != nil {
		return key, err
	}
	if len(stored) == len(key) {
		return sigstore.AuthorKey(stored), nil
	}
	rand.Read(key[:])
	return key, store.Put(ctx, authorKeyName, key[:])
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
	return !n.caughtUp.Load() || n.match != nil && n.match.fails()
}

// flush waits until everything that the sentence topic holds now is through, its events in the event topic.
func (n *node) flush(ctx context.Context) error {
	_, ends, err := n.sentences.Bounds(ctx)
	if err != nil {
		return err
	}
	if n.owners != nil {
		return n.owners.waitFor(ctx, ends)
	}
	return n.match.crew.WaitFor(ctx, ends)
}

// lag is how far look-ups are behind, wherever they are made.
func (n *node) lag() time.Duration {
	if n.owners != nil {
		return n.owners.lag(time.Now())
	}
	return n.match.lag()
}

// waits is how long the oldest record has waited for its look-ups.
func (n *node) waits() time.Duration {
	if n.owners != nil {
		return n.owners.lag(time.Now())
	}
	return n.match.waits()
}

// lookedUpTo is the stamp up to which records are looked up; zero where workers elsewhere do it.
func (n *node) lookedUpTo() time.Time {
	if n.owners != nil {
		return time.Time{}
	}
	return n.match.lookedUpTo()
}

// model is what codes are made by here.
func (n *node) model() *hashcodes.Model {
	if n.match != nil {
		return n.match.models.Model()
	}
	return n.window.Model
}

func (n *node) close() error {
	var errs []error
	for _, r := range n.observed {
		errs = append(errs, r.Unregister())
	}
	if n.match != nil {
		errs = append(errs, n.match.close())
	}
	if n.isOpen && n.dealer != nil { // until then it is for another try
		errs = append(errs, n.dealer.Close())
	}
	if n.canaries != nil && n.canaries.metrics != nil {
		n.canaries.metrics.close()
	}
	if n.broker != nil {
		errs = append(errs, n.broker.Close())
	}
	if n.deadEvents.DeadLetters != nil {
		errs = append(errs, n.deadEvents.Close())
	}
	return errors.Join(errs...)
}

// observe has instruments observed until the node is closed. The next one of this process has its own, and what this one holds, its
// windows above all, would be held for as long as somebody could ask for it.
func (n *node) observe(meter metric.Meter, callback metric.Callback, instruments ...metric.Observable) error {
	r, err := meter.RegisterCallback(callback, instruments...)
	if err == nil {
		n.observed = append(n.observed, r)
	}
	return err
}

// behind reports whether posts wait to be looked up here: then what can wait should.
func (n *node) behind() bool { return n.match != nil && n.match.crew.Behind() }

// live says why the process cannot go on. Where others keep the topics no new start helps while they are away: the window is
// in memory, and would have to be read back.
func (n *node) live(context.Context) error {
	if n.cfg.onBroker() {
		return n.broker.Lost()
	}
	return n.broker.Check()
}

// ErrTopicsChanged ends a Server whose topics have become others: they were deleted, made anew, or have lost records. Another
// Server compares what is stored with what they hold, and goes on from there.
var ErrTopicsChanged = errors.New("the topics are others than they were")

// watchTopics ends the service when a topic is another one than it was.
func (n *node) watchTopics(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	_ = every(ctx, time.Second, func(context.Context) { // nil
		if err := n.broker.Lost(); err != nil {
			cancel(fmt.Errorf("%w: %w", ErrTopicsChanged, err))
		}
	})
	if err := context.Cause(ctx); errors.Is(err, ErrTopicsChanged) {
		return err
	}
	return nil
}

// isDeleted reports whether a post, or its author, was deleted: events made at that time that show it are not replayed.
func (n *node) isDeleted(p feed.Name, made time.Time) bool { return n.tombstones.Deleted(p, made) }

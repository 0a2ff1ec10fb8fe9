package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"refrain/internal/assigned"
	"refrain/internal/check"
	"refrain/topic"
)

// LeaseConfig says where the leases are and when a process counts as dead.
type LeaseConfig struct {
	JetStream js.JetStream
	Bucket    string // key-value bucket of the leases, which exists; many groups may share it
	Group     string // which parts: letters, digits, - and _
	Parts     int
	Member    string // this process's stable name, by which it gets back what it had

	TTL   time.Duration // after how long without a sign of life others take the parts of a process
	Renew time.Duration // how often it gives one, a third of TTL or less

	Now    func() time.Time // for spans only: no two processes compare their clocks
	Logger *slog.Logger
}

// DefaultLeases still wants a client and names.
func DefaultLeases() LeaseConfig {
	return LeaseConfig{TTL: 10 * time.Second, Renew: 3 * time.Second, Now: time.Now, Logger: slog.Default()}
}

func (c *LeaseConfig) validate() error {
	var name, rare error
	if !validName.MatchString(c.Bucket) || !validName.MatchString(c.Group) {
		name = fmt.Errorf("bucket %q, group %q: a name is letters, digits, - and _", c.Bucket, c.Group)
	}
	if c.Renew > c.TTL/3 {
		rare = fmt.Errorf("renew: %v, want a third of the ttl of %v or less", c.Renew, c.TTL)
	}
	return errors.Join(check.Set("jetstream", c.JetStream != nil), name, check.Set("member", c.Member != ""),
		check.AtLeast(1, "parts", c.Parts), rare,
		check.AtLeast(time.Millisecond, "ttl", c.TTL), check.AtLeast(time.Millisecond, "renew", c.Renew),
		check.Set("now", c.Now != nil), check.Set("logger", c.Logger != nil))
}

// Leases is the membership of this process in a group whose parts are keys of a bucket.
//
// Each process has a key that it writes again every Renew: its sign of life. Each part has a key that names the process
// that has it; that lease holds for as long as the process lives. All watch the keys, so all know who lives, and each gives
// up what topic.Deal gives to others and takes what it gives to it, once the other has given it up or is dead. A key is only
// ever written over the revision that the writer has seen, so of two that take a part one does.
type Leases struct {
	cfg    LeaseConfig
	kv     js.KeyValue
	view   *leaseView // of run's goroutine
	latest *assigned.Latest

	cancel context.CancelFunc
	kill   bool // set before cancel: leave nothing behind, as if the process had died
	once   sync.Once
	done   chan struct{}

	watcher js.KeyWatcher // of run's goroutine, as what follows
	renewed time.Time     // when the server last took our sign of life
	waiting bool          // for a process of our name, and it has been said
	told    string        // the last error that was logged
}

var _ topic.Membership = (*Leases)(nil)

// JoinLeases opens the bucket, gives a first sign of life and begins to take parts. Close must be called, before the
// connection is closed.
func JoinLeases(ctx context.Context, cfg LeaseConfig) (*Leases, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("join leases: %w", err)
	}
	l := &Leases{cfg: cfg, view: newLeaseView(cfg, rand.Text()), latest: assigned.New(), done: make(chan struct{})}
	if err := l.open(ctx); err != nil {
		return nil, fmt.Errorf("join leases of %s in bucket %s: %w", cfg.Group, cfg.Bucket, err)
	}
	running, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	go l.run(running)
	return l, nil
}

func (l *Leases) open(ctx context.Context) (err error) {
	if l.kv, err = l.cfg.JetStream.KeyValue(ctx, l.cfg.Bucket); err != nil {
		return err
	}
	l.report(l.kv.PurgeDeletes(ctx, js.DeleteMarkersOlderThan(markersFor)))
	return l.renew(ctx)
}

// markersFor is how long it is remembered that a key was deleted; every process that ever was leaves one.
const markersFor = 24 * time.Hour

// Next implements topic.Membership.
func (l *Leases) Next(ctx context.Context) ([]int, error) { return l.latest.Next(ctx) }

// Close implements topic.Membership.
func (l *Leases) Close() error {
	l.latest.Fail(topic.ErrClosed)
	l.once.Do(l.cancel)
	<-l.done
	return nil
}

// run is the one goroutine that looks at the bucket and writes to it.
func (l *Leases) run(ctx context.Context) {
	defer close(l.done)
	defer l.leave()
	defer l.unwatch()
	renew := time.NewTicker(l.cfg.Renew)
	defer renew.Stop()
	for {
		if err := l.turn(ctx); err != nil {
			l.latest.Fail(err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-renew.C:
			l.report(l.renew(ctx))
		case e, ok := <-l.updates():
			l.take(e, ok)
		}
	}
}

// updates is nil while there is no watch: the next renewal starts one.
func (l *Leases) updates() <-chan js.KeyValueEntry {
	if l.watcher == nil {
		return nil
	}
	return l.watcher.Updates()
}

// take takes up an update and all that have come with it.
func (l *Leases) take(e js.KeyValueEntry, ok bool) {
	for {
		if !ok {
			l.watcher = nil // the connection has ended it
			return
		}
		if e != nil {
			l.report(l.view.observe(e, l.cfg.Now()))
		}
		select {
		case e, ok = <-l.watcher.Updates():
		default:
			return
		}
	}
}

// turn watches where need be, and does what the view says. Its error ends the membership.
func (l *Leases) turn(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	l.report(l.rewatch(ctx))
	live, dead := l.view.processes()
	if e, lives := l.view.stranger(live); lives {
		return fmt.Errorf("group %s: worker %s deals out %d parts, and this process was told %d: all that share them must be "+
			"configured alike", l.cfg.Group, e.Worker, e.Parts, l.cfg.Parts)
	}
	if e, lives := l.view.namesake(live); lives {
		return &topic.NameTakenError{Member: l.cfg.Member, Group: "group " + l.cfg.Group}
	} else if e != nil && !l.waiting {
		l.waiting = true
		l.cfg.Logger.Warn("another process has this worker's name, or had it when it died: waiting for it to end", "component",
			"nats", "group", l.cfg.Group, "worker", l.cfg.Member)
	}
	l.report(errors.Join(l.expire(ctx, dead), l.deal(ctx, live)))
	return nil
}

// expire removes the keys of dead processes: the others need not find out for themselves.
func (l *Leases) expire(ctx context.Context, dead []string) error {
	for _, key := range dead {
		l.cfg.Logger.Warn("a worker gives no sign of life: its parts go to others", "component", "nats", "group", l.cfg.Group,
			"worker", l.view.entries[key].Worker)
		if err := l.remove(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// deal gives up and takes leases. Parts that are given up are out of use here before others can have them.
func (l *Leases) deal(ctx context.Context, live map[string]*leaseEntry) error {
	release, claim := l.view.step(live)
	if len(release) > 0 {
		l.latest.Set(slices.DeleteFunc(l.view.held(), func(p int) bool { return slices.Contains(release, p) }))
	}
	for _, p := range release {
		if err := l.remove(ctx, l.view.partKey(p)); err != nil {
			return err
		}
	}
	for _, p := range claim {
		if err := l.put(ctx, l.view.partKey(p)); err != nil {
			return err
		}
	}
	l.announce(live)
	return nil
}

// announce says what is held. Having nothing is news only where nothing is due: the first leases may be others' still.
func (l *Leases) announce(live map[string]*leaseEntry) {
	held := l.view.held()
	if len(held) == 0 && !l.view.isSpare(live) {
		l.latest.Clear()
		return
	}
	l.latest.Set(held)
}

// report logs an error, the same one once.
func (l *Leases) report(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	if what := err.Error(); what != l.told {
		l.told = what
		l.cfg.Logger.Warn("leases are not renewed; parts stay as they are", "component", "nats", "group", l.cfg.Group, "error", err)
	}
}

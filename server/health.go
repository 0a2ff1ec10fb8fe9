package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/api"
	"refrain/internal/meters"
)

// health is what is known to be wrong with the service: a list of conditions, looked at every second and whenever somebody
// asks, though no oftener than every half second.
//
// A condition holds once its check has failed for as long as after says, and no longer once it has not for as long as
// clear says. A source that is down is a warning only: this server takes, compares and answers all other posts, and the
// next one would not reach that broker either.
type health struct {
	log *slog.Logger
	now func() time.Time

	mu         sync.Mutex
	conditions []*condition
	checkedAt  time.Time
}

// condition is one line of docs/operations.md, Health.
type condition struct {
	name, means  string
	warning      bool
	after, clear time.Duration
	check        func(context.Context) error // nil: all is well

	holds  bool
	detail error
	since  time.Time // when the check began to fail, or, while it holds, to succeed again; zero: it does not
}

const (
	checkInterval   = time.Second
	recheckInterval = 500 * time.Millisecond
	checkTimeout    = 2 * time.Second
)

// run checks at once and then every second, so that metrics and the log show what nobody asks for.
func (h *health) run(ctx context.Context) error {
	check := func(ctx context.Context) { h.Holding(ctx) }
	check(ctx)
	return every(ctx, checkInterval, check)
}

// Holding are the conditions that hold.
func (h *health) Holding(ctx context.Context) []api.Condition {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.checkedAt) >= recheckInterval {
		h.checkAll(ctx)
		h.checkedAt = time.Now()
	}
	holding := []api.Condition{}
	for _, c := range h.conditions {
		if c.holds {
			holding = append(holding, api.Condition{Name: c.name, Means: c.means, Detail: c.detail.Error(), Warning: c.warning})
		}
	}
	return holding
}

// checkAll goes through all conditions. Who asks may go away meanwhile: what he began to look at is looked at all the same.
func (h *health) checkAll(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for _, c := range h.conditions {
		limited, cancel := context.WithTimeout(ctx, checkTimeout)
		before := c.holds
		c.update(c.check(limited), h.now())
		cancel()
		if before != c.holds {
			h.logChange(c)
		}
	}
}

// update decides whether c holds.
func (c *condition) update(err error, now time.Time) {
	if err != nil {
		c.detail = err
	}
	if (err != nil) == c.holds {
		c.since = time.Time{}
		return
	}
	if c.since.IsZero() {
		c.since = now
	}
	wait := c.after
	if c.holds {
		wait = c.clear
	}
	if now.Sub(c.since) >= wait {
		c.holds, c.since = err != nil, time.Time{}
	}
}

func (h *health) logChange(c *condition) {
	if !c.holds {
		h.log.Info("condition is over", "condition", c.name)
		return
	}
	h.log.Warn("condition holds", "condition", c.name, "means", c.means, "error", c.detail)
}

// observe makes metrics of what was found last.
func (h *health) observe(n *node) error {
	meter := otel.Meter("refrain/server")
	ready, err1 := meter.Int64ObservableGauge("refrain_server_ready",
		metric.WithDescription("1 while /readyz answers 200, else 0."))
	holding, err2 := meter.Int64ObservableGauge("refrain_server_condition",
		metric.WithDescription("1 while a condition holds, else 0."))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return n.observe(meter, func(_ context.Context, o metric.Observer) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		isReady := true
		for _, c := range h.conditions {
			o.ObserveInt64(holding, meters.Bool(c.holds), metric.WithAttributes(attribute.String("condition", c.name)))
			if c.holds && !c.warning {
				isReady = false
			}
		}
		o.ObserveInt64(ready, meters.Bool(isReady))
		return nil
	}, ready, holding)
}

// openHealth lists the conditions.
func (s *Server) openHealth() error {
	n := s.node
	n.health = &health{log: s.log, now: time.Now, conditions: []*condition{
		{name: "storage", means: n.storageHint(),
			check: func(context.Context) error { return n.broker.Check() }},
		{name: "sentence_topic", means: "The sentence topic does not answer.", check: n.checkSentences},
		{name: "sentence_topic_full", means: "The sentence topic is full: posts are refused until old ones expire.",
			check: n.checkRoom},
		{name: "worker_failing", means: "A match worker fails at every turn: posts are accepted, and not compared.",
			check: n.checkWorkers},
		{name: "lag", means: "Posts wait too long to be compared.", after: 3 * time.Second, clear: 3 * time.Second,
			check: n.checkLag},
		{name: "canary_late", means: "The server's own posts do not come through the route.", check: n.checkCanary},
		{name: "source_down", means: "A source of posts is out of reach.", warning: true, after: 3 * time.Second,
			check: s.checkSources},
	}}
	n.health.conditions = append(n.health.conditions, n.sharedConditions()...)
	return n.health.observe(n)
}

func (n *node) storageHint() string {
	if n.cfg.onBroker() {
		return "The broker of the topics is away, or something is wrong with one of the topics there."
	}
	return "The store of the topics takes nothing: the disk is full, or has failed."
}

// sharedConditions are those of a process that shares the topics with others.
func (n *node) sharedConditions() (all []*condition) {
	if n.owners != nil {
		all = append(all, &condition{name: "nobody_serves", means: "Of some partitions of the window there has never been an owner.",
			after: 3 * time.Second, check: n.owners.check},
			&condition{name: "another_deployment", means: "Another deployment uses the same topics.", check: n.strangers.check})
	}
	if n.cfg.onBroker() {
		all = append(all, &condition{name: "not_a_member", after: 10 * time.Second, check: n.memberships.check,
			means: "This process has no part in what is dealt out: it goes on with what it has."})
	}
	if n.owners != nil && n.match != nil {
		all = append(all, &condition{name: "catching_up", means: "Partitions of this process have not caught up: look-ups in them wait.",
			check: n.checkPartitions})
	}
	return all
}

// checkPartitions: before it is known which they are, none of them has caught up. An upgrade that goes on to the next process
// when this one is ready would have two read back at a time.
func (n *node) checkPartitions(context.Context) error {
	if !n.match.assigned.Load() {
		return errors.New("it is not known yet which partitions are this process's: its group is still dealing them out, or has " +
			"another process of this name")
	}
	var errs []error
	for _, p := range n.match.crew.Partitions() {
		if !p.CaughtUp {
			errs = append(errs, fmt.Errorf("partition %d: %s", p.Partition, p.Waiting))
		}
	}
	return errors.Join(errs...)
}

func (n *node) checkSentences(ctx context.Context) error {
	_, _, err := n.sentences.Bounds(ctx)
	return err
}

// minRoom is how much of the sentence topic's limit is left while it is not full.
func minRoom(limit int64) int64 { return min(1<<20, limit/16) }

// checkRoom says that there is none. Once there is none there must be twice as much again.
func (n *node) checkRoom(ctx context.Context) error {
	size, err := n.sentences.Size(ctx)
	if err != nil {
		return nil // checkSentences says so
	}
	left, want := size.MaxBytes-size.Bytes, minRoom(size.MaxBytes)
	if n.wasFull {
		want *= 2
	}
	n.wasFull = size.MaxBytes > 0 && left < want
	switch {
	case n.wasFull:
		return fmt.Errorf("%d of topics.sentence_bytes = %d bytes are left", max(0, left), size.MaxBytes)
	case n.split != nil && n.split.Full():
		return fmt.Errorf("posts were refused for want of room: %d of topics.sentence_bytes = %d bytes are left, unless the disk is full", left, size.MaxBytes)
	}
	return nil
}

// failsRunning is how many turns of a worker have to fail one after the other: one that fails is tried again at once.
const failsRunning = 3

func (n *node) checkWorkers(context.Context) error {
	if n.match == nil {
		return nil
	}
	var errs []error
	for _, w := range n.match.crew.Workers() {
		if t := w.Trouble(); t != nil && t.Failures >= failsRunning {
			errs = append(errs, fmt.Errorf("%d turns since %s, at position %d of partition %d: %w",
				t.Failures, t.Since.UTC().Format(time.RFC3339), t.Position, t.Partition, t.Err))
		}
	}
	return errors.Join(errs...)
}

func (n *node) checkLag(context.Context) error {
	longest := n.waits()
	if limit := n.cfg.Health.MaxLag; limit > 0 && longest > limit {
		return fmt.Errorf("the oldest has waited for %v, health.max_lag is %v", longest.Round(time.Second), limit)
	}
	return nil
}

func (n *node) checkCanary(context.Context) error {
	if n.canaries == nil || n.canaries.split == nil {
		return nil
	}
	n.canaries.countOverdue(time.Now())
	return n.canaries.check(time.Now())
}

// checkSources says which sources are down.
func (s *Server) checkSources(context.Context) error {
	var errs []error
	for i := range s.sources {
		if err := s.sources[i].status.Down(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.sources[i].name, err))
		}
	}
	return errors.Join(errs...)
}

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/errgroup"

	"refrain/internal/retry"
	"refrain/shard"
	"refrain/topic"
)

// owners is what a process that shares the topics knows of those who own the partitions, itself included: how far they have
// got, by the states that they store every second, their events durable.
type owners struct {
	sentences  topic.Topic
	store      topic.Store
	partitions int
	log        *slog.Logger

	mu       sync.Mutex
	lookedUp []int64 // by partition: up to where all have looked it up
	control  int64   // up to where all have read the control topic
	nobody   []int   // partitions of which no state is stored
	ends     []endsAt
	err      error // why it is not known how far they are; nil: it is
}

// endsAt are the ends of the sentence topic at a time, by the clock of this process.
type endsAt struct {
	at   time.Time
	ends []int64
}

// Ends are noted as often as states are stored; of those not looked up so many are kept, with growing distances.
const (
	ownersEvery = time.Second
	maxEnds     = 600
)

func newOwners(n *node) *owners {
	return &owners{
		sentences: n.sentences, store: n.store, partitions: n.cfg.Topics.Partitions, log: n.log,
		lookedUp: make([]int64, n.cfg.Topics.Partitions),
	}
}

// run looks until ctx ends.
func (o *owners) run(ctx context.Context) error {
	return every(ctx, ownersEvery, func(ctx context.Context) { o.look(ctx, time.Now()) })
}

// look notes how far the owners and the topic are.
func (o *owners) look(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, 10*ownersEvery)
	defer cancel()
	_, ends, err := o.sentences.Bounds(ctx)
	var states []*shard.State
	if err == nil {
		states, err = o.states(ctx)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err = err; err != nil {
		return
	}
	o.note(states)
	o.ends = append(o.ends, endsAt{now, ends})
	for len(o.ends) > 0 && o.passed(o.ends[0].ends) {
		o.ends = o.ends[1:]
	}
	o.thin()
}

// thin bounds what is remembered: of the older half every second one goes.
func (o *owners) thin() {
	if len(o.ends) <= maxEnds {
		return
	}
	kept := o.ends[:1]
	for i := 2; i < len(o.ends); i++ {
		if i%2 == 0 || i > maxEnds/2 {
			kept = append(kept, o.ends[i])
		}
	}
	o.ends = kept
}

// states are those of all partitions; nil where there is none.
func (o *owners) states(ctx context.Context) ([]*shard.State, error) {
	states := make([]*shard.State, o.partitions)
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(8)
	for q := range states {
		all.Go(func() (err error) {
			states[q], err = shard.ReadState(ctx, o.store, q)
			return err
		})
	}
	return states, all.Wait()
}

// note takes in what is stored.
func (o *owners) note(states []*shard.State) {
	lookedUp, control := slices.Repeat([]int64{math.MaxInt64}, o.partitions), int64(math.MaxInt64)
	o.nobody = nil
	for q, s := range states {
		if s == nil {
			o.nobody = append(o.nobody, q)
			continue
		}
		for p, at := range s.LookupFrom {
			lookedUp[p] = min(lookedUp[p], at)
		}
		control = min(control, s.Control)
	}
	if len(o.nobody) > 0 {
		lookedUp, control = make([]int64, o.partitions), 0
	}
	o.lookedUp, o.control = lookedUp, control
}

func (o *owners) passed(ends []int64) bool {
	for p, end := range ends {
		if o.lookedUp[p] < end {
			return false
		}
	}
	return true
}

// lag is how long ago what is not looked up yet was there first.
func (o *owners) lag(now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.ends) == 0 {
		return 0
	}
	return max(0, now.Sub(o.ends[0].at))
}

// waitFor waits until all owners have stored that everything before ends is looked up.
func (o *owners) waitFor(ctx context.Context, ends []int64) error {
	for {
		o.mu.Lock()
		done := o.passed(ends)
		o.mu.Unlock()
		if done {
			return nil
		}
		if err := retry.Sleep(ctx, ownersEvery/10); err != nil {
			return err
		}
	}
}

// check says what is not known of the owners.
func (o *owners) check(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if len(o.nobody) > 0 {
		return fmt.Errorf("no worker has ever served partitions %v: start one with the role match", o.nobody)
	}
	return nil
}

// observe makes metrics of how many records of each partition wait for look-ups.
func (o *owners) observe(n *node) error {
	meter := otel.Meter("refrain/server")
	records, err1 := meter.Int64ObservableGauge("refrain_server_lag_records",
		metric.WithDescription("Records of a partition of the sentence topic that some owner has not looked up, in all processes."))
	seconds, err2 := meter.Float64ObservableGauge("refrain_server_lag", metric.WithUnit("s"),
		metric.WithDescription("How long ago the oldest record came that some owner has not looked up, in all processes."))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return n.observe(meter, func(_ context.Context, to metric.Observer) error {
		to.ObserveFloat64(seconds, o.lag(time.Now()).Seconds())
		o.mu.Lock()
		defer o.mu.Unlock()
		for p := range o.partitions {
			waits := int64(0)
			if n := len(o.ends); n > 0 {
				waits = max(0, o.ends[n-1].ends[p]-o.lookedUp[p])
			}
			to.ObserveInt64(records, waits, metric.WithAttributes(attribute.Int("partition", p)))
		}
		return nil
	}, records, seconds)
}

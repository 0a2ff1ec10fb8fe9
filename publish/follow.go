package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"refrain/internal/check"
	"refrain/internal/retry"
)

// FollowConfig says what Follow reads, and for whom. What the reader requires is required, and Sink.
type FollowConfig struct {
	ReaderConfig
	Sink Sink
	// Check is for a sink that may lose what it has accepted, and can tell before it is given more. It is called now and then
	// while there are no events; its error is like one of Publish. Nil: the sink loses nothing.
	Check func(context.Context) error
	// Retry: a sink that fails is tried again, with growing pauses, until ctx ends. Otherwise its error ends Follow.
	Retry bool
	// Gather is for a sink to which a batch costs more than its events: after each it has a cooldown of four times
	// what the batch took, a second at most, unless so many events have come, or 8 MiB of them. 0: events are handed over
	// as they come.
	Gather int
	// Busy reports whether there is more urgent work: then the sink gets nothing, whatever has come, until it is far
	// behind. nil: never.
	Busy func() bool
}

func (c *FollowConfig) validate() error {
	return errors.Join(c.ReaderConfig.validate(), check.Set("sink", c.Sink != nil), check.AtLeast(0, "gather", c.Gather))
}

// maxCooldown is the longest cooldown of a sink.
const maxCooldown = time.Second

// Follow hands every event of the topic to a sink, at least once, until ctx ends; then it returns nil. Without a
// stored cursor it begins with the oldest event retained, without a Store with what comes next.
func Follow(ctx context.Context, cfg FollowConfig) error {
	if err := cfg.validate(); err != nil {
		return fmt.Errorf("follow events for %q: %w", cfg.Name, err)
	}
	f := &follower{FollowConfig: cfg, metrics: newMetrics()}
	f.metrics.sent(cfg.Name, 0)
	for {
		err := f.run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if !cfg.Retry && !errors.Is(err, ErrRewind) {
			return fmt.Errorf("publish to %s: %w", cfg.Name, err)
		}
		f.metrics.failed(cfg.Name)
		cfg.Logger.Warn("publish: retrying from the cursor", "sink", cfg.Name, "reason", err)
		if retry.Sleep(ctx, rereadDelay) != nil {
			return nil
		}
	}
}

// rereadDelay is the pause before reading begins again.
const rereadDelay = time.Second

type follower struct {
	FollowConfig
	metrics metrics
}

// run reads from the cursor on, until something fails for good.
func (f *follower) run(ctx context.Context) error {
	r, err := retrying(ctx, f, func() (*Reader, error) { return OpenReader(ctx, f.ReaderConfig) })
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // there is nothing to lose
	stop := f.metrics.watchLag(f.Name, r)
	defer stop()
	var cooldownEnd time.Time // when it ends
	for {
		events, err := f.next(ctx, r)
		if err == nil {
			events, err = f.gather(ctx, r, events, cooldownEnd)
		}
		if err != nil {
			return err
		}
		if f.yields(ctx, r) {
			if err := retry.Sleep(ctx, time.Until(cooldownEnd)); err != nil {
				return err
			}
		}
		began := time.Now()
		if err := f.publish(ctx, r, events); err != nil {
			return err
		}
		cooldownEnd = time.Now().Add(min(4*time.Since(began), maxCooldown))
	}
}

// farBehind is how many positions behind the end a sink no longer yields to more urgent work: the topic does not keep its
// events for ever.
const farBehind = 1 << 20

// yields reports whether the sink has to wait for something more urgent.
func (f *follower) yields(ctx context.Context, r *Reader) bool {
	if f.Busy == nil || !f.Busy() {
		return false
	}
	lag, err := r.Lag(ctx)
	return err == nil && lag < farBehind
}

// gather adds what comes until then. After an error all are read again: none of them is done.
func (f *follower) gather(ctx context.Context, r *Reader, events []Event, until time.Time) ([]Event, error) {
	wait, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	for size := bytesOf(events); len(events) < f.Gather && size < maxGather; {
		more, err := r.Next(wait)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return events, nil
		}
		if err != nil {
			return nil, err
		}
		events = append(events, more...)
		size += bytesOf(more)
	}
	return events, nil
}

// maxGather bounds the bytes of the events that are gathered for a sink: 4,000 usual ones are half of it.
const maxGather = 8 << 20

func bytesOf(events []Event) (n int) {
	for i := range events {
		n += len(events[i].Data)
	}
	return n
}

// checkEvery is how long a sink may have lost its state without being asked.
const checkEvery = 5 * time.Second

// next waits for events, and looks after the sink meanwhile.
func (f *follower) next(ctx context.Context, r *Reader) ([]Event, error) {
	if f.Check == nil {
		return r.Next(ctx)
	}
	for {
		wait, cancel := context.WithTimeout(ctx, checkEvery)
		events, err := r.Next(wait)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return events, err
		}
		if _, err := retrying(ctx, f, func() (struct{}, error) { return struct{}{}, f.Check(ctx) }); err != nil {
			return nil, err
		}
	}
}

// publish hands over one batch and then remembers it.
func (f *follower) publish(ctx context.Context, r *Reader, events []Event) error {
	left := slices.Clone(events)
	_, err := retrying(ctx, f, func() (struct{}, error) {
		if left = visible(left, f.Deleted); len(left) == 0 { // some may have been deleted since the last try
			return struct{}{}, nil
		}
		return struct{}{}, f.Sink.Publish(ctx, left)
	})
	if err != nil {
		return err
	}
	f.metrics.sent(f.Name, len(left))
	f.metrics.observeDelay(f.Name, foundTimes(left)...)
	r.Done(events...)
	_, err = retrying(ctx, f, func() (struct{}, error) { return struct{}{}, r.Commit(ctx) })
	return err
}

// visible are the events that may be shown.
func visible(events []Event, deleted Deleted) []Event {
	out := events[:0]
	for i := range events {
		if events[i].Clear(deleted) {
			out = append(out, events[i])
		}
	}
	return out
}

// retrying calls what may fail for a while.
func retrying[T any](ctx context.Context, f *follower, call func() (T, error)) (T, error) {
	attempt := func() (T, error) {
		v, err := call()
		if err != nil && (!f.Retry || errors.Is(err, ErrRewind)) {
			return v, backoff.Permanent(err)
		}
		return v, err
	}
	return backoff.Retry(ctx, attempt, backoff.WithBackOff(retry.Patient()), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, pause time.Duration) {
			f.metrics.failed(f.Name)
			f.Logger.Warn("publish: retrying", "sink", f.Name, "error", err, "pause", pause)
		}))
}

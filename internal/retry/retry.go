// Package retry is the pauses between tries, for whoever tries again: workers, split, sources, sinks, connections.
//
// There is no loop in it: each of them has its own, and says what is tried again. How deliveries of webhooks are
// tried again stands in publish/webhook: finish.go says which, schedule.go when.
//
// All pauses begin at a tenth of a second, double, and are given or taken a fifth, so that what failed together does
// not come back together. They differ in how long they get, which is about how late the end of an outage is noticed:
//
//	Quick    2 s    somebody waits for this call, or everything stands still: an append of split, the embedded topic's
//	                reader, a sink's request that has ten seconds
//	Steady   5 s    the loops that never give up: a worker's turn, a source's partition, a first connection
//	Patient  10 s   a try costs something: a sink gets its whole batch again, a cursor is read anew
//
// A pause that somebody configures, or that a standard asks for, is not here: webhooks' deliveries and Bluesky have their
// own.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Quick has pauses of up to 2 s.
func Quick() *backoff.ExponentialBackOff { return pauses(2 * time.Second) }

// Steady has pauses of up to 5 s.
func Steady() *backoff.ExponentialBackOff { return pauses(5 * time.Second) }

// Patient has pauses of up to 10 s.
func Patient() *backoff.ExponentialBackOff { return pauses(10 * time.Second) }

func pauses(maxInterval time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: 100 * time.Millisecond, Multiplier: 2, MaxInterval: maxInterval, RandomizationFactor: 0.2,
	}
}

// Sleep waits for d; when ctx ends first it returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

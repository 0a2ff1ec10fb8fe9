package webhook

import (
	"container/heap"
	"context"
	"time"
)

// What a session may read and start, and when.

// count is how many events, and bytes of them, wait for a retry, or for a dead letter to be written.
func (s *session) count() (n, bytes int) {
	for _, q := range []byDue{s.waiting, s.givenUp} {
		for _, d := range q {
			n += len(d.events)
			for i := range d.events {
				bytes += len(d.events[i].Data)
			}
		}
	}
	return n, bytes
}

// maxPendingBytes is the bytes of events that may wait before reading stops, however few they are: 1,000 usual ones are a
// sixteenth of it.
const maxPendingBytes = 16 << 20

// start begins as many deliveries as may be under way.
func (s *session) start(ctx context.Context, now time.Time) {
	for s.paused.IsZero() && s.inFlight < s.maxInFlight() && !s.opens().After(now) {
		d := s.next(now)
		if d == nil {
			return
		}
		if s.prune(d); len(d.events) == 0 {
			continue
		}
		s.inFlight++
		d.attempt++
		s.running.Go(func() { s.results <- s.send(ctx, d) })
	}
}

// prune is done with the events of a delivery that show a post which has been deleted since they were read.
func (s *session) prune(d *delivery) {
	if removed := d.prune(s.deps.Deleted); len(removed) > 0 {
		d.lane.done(removed...)
		s.metrics.count(deleted, len(removed))
	}
}

// maxInFlight is how many deliveries may be under way: one, as a probe, when the endpoint is down.
func (s *session) maxInFlight() int {
	if s.outage.down {
		return 1
	}
	return s.Concurrency
}

// opens is when the next delivery may begin, as far as the endpoint is concerned.
func (s *session) opens() time.Time {
	if s.outage.down {
		return latest(s.notBefore, s.outage.probe)
	}
	return s.notBefore
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// next returns the delivery whose turn it is, or nil. Fresh ones and failed ones take turns, or some that the endpoint
// will never accept could hold up all others. A probe of an endpoint that is down need not be due.
func (s *session) next(now time.Time) *delivery {
	isRetry := len(s.waiting) > 0 && (s.outage.down || !s.waiting[0].due.After(now))
	if isRetry && s.fresh() > 0 {
		isRetry = s.turnFresh
	}
	s.turnFresh = !isRetry
	if isRetry {
		return heap.Pop(&s.waiting).(*delivery)
	}
	return s.nextFresh()
}

// retryAt is when a delivery may be tried again.
func (s *session) retryAt(d *delivery) time.Time {
	if s.outage.down {
		return s.opens()
	}
	return latest(s.opens(), d.due)
}

// untilNext is how long nothing will have to be done, if nothing happens.
func (s *session) untilNext(now time.Time) time.Duration {
	next := now.Add(time.Hour)
	wakeBy := func(t time.Time) {
		if t.Before(next) {
			next = t
		}
	}
	for _, l := range s.lanes() {
		if len(l.batch.events) > 0 {
			wakeBy(l.batch.due)
		}
	}
	if len(s.givenUp) > 0 {
		wakeBy(s.givenUp[0].due)
	}
	if s.paused.IsZero() && s.inFlight < s.maxInFlight() && s.fresh()+len(s.waiting) > 0 {
		wakeBy(s.startable())
	}
	return max(next.Sub(now), 0)
}

// startable is when the next delivery can begin.
func (s *session) startable() time.Time {
	if s.fresh() == 0 && !s.outage.down {
		return latest(s.opens(), s.waiting[0].due)
	}
	return s.opens()
}

// schedule is how long a delivery is tried, from its first failure to its last attempt.
func (c *Config) schedule() (sum time.Duration) {
	for _, p := range c.Retries {
		sum += p
	}
	return sum
}

package webhook

import (
	"container/heap"
	"context"
	"slices"
	"time"

	"refrain/feed"
	"refrain/publish"
)

// What a session may read and start, and when.

// intake is where events come from, or nil while there are enough.
func (s *session) intake() <-chan []publish.Event {
	if len(s.fresh) >= 2*s.Concurrency || s.held {
		return nil
	}
	return s.events
}

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

// enqueue makes deliveries of events. A retraction waits for no company.
func (s *session) enqueue(events []publish.Event, now time.Time) {
	for _, e := range events {
		if s.Batch == 1 || e.Type == feed.RetractedType {
			s.fresh = append(s.fresh, &delivery{events: []publish.Event{e}})
			continue
		}
		if n := len(s.batch.events); n > 0 && s.batch.bytes+len(e.Data) > maxBatchBytes {
			s.fresh = append(s.fresh, s.batch.flush())
		}
		s.batch.add(e, now, s.BatchWait)
		if len(s.batch.events) == s.Batch {
			s.fresh = append(s.fresh, s.batch.flush())
		}
	}
}

// closeBatch ends the batch whose time is up.
func (s *session) closeBatch(now time.Time) {
	if len(s.batch.events) > 0 && !s.batch.due.After(now) {
		s.fresh = append(s.fresh, s.batch.flush())
	}
}

// start begins as many deliveries as may be under way.
func (s *session) start(ctx context.Context, now time.Time) {
	for s.inFlight < s.maxInFlight() && !s.opens().After(now) {
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
		s.reader.Done(removed...)
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
		return later(s.notBefore, s.outage.probe)
	}
	return s.notBefore
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// next returns the delivery whose turn it is, or nil. Fresh ones and failed ones take turns, or some that the endpoint
// will never accept could hold up all others. A probe of an endpoint that is down need not be due.
func (s *session) next(now time.Time) *delivery {
	isRetry := len(s.waiting) > 0 && (s.outage.down || !s.waiting[0].due.After(now))
	if isRetry && len(s.fresh) > 0 {
		isRetry = s.turnFresh
	}
	s.turnFresh = !isRetry
	if isRetry {
		return heap.Pop(&s.waiting).(*delivery)
	}
	if len(s.fresh) == 0 {
		return nil
	}
	d := s.fresh[0]
	s.fresh = slices.Delete(s.fresh, 0, 1)
	return d
}

// retryAt is when a delivery may be tried again.
func (s *session) retryAt(d *delivery) time.Time {
	if s.outage.down {
		return s.opens()
	}
	return later(s.opens(), d.due)
}

// untilNext is how long nothing will have to be done, if nothing happens.
func (s *session) untilNext(now time.Time) time.Duration {
	next := now.Add(time.Hour)
	wakeBy := func(t time.Time) {
		if t.Before(next) {
			next = t
		}
	}
	if len(s.batch.events) > 0 {
		wakeBy(s.batch.due)
	}
	if len(s.givenUp) > 0 {
		wakeBy(s.givenUp[0].due)
	}
	if s.inFlight < s.maxInFlight() && len(s.fresh)+len(s.waiting) > 0 {
		wakeBy(s.startable())
	}
	return max(next.Sub(now), 0)
}

// startable is when the next delivery can begin.
func (s *session) startable() time.Time {
	if len(s.fresh) == 0 && !s.outage.down {
		return later(s.opens(), s.waiting[0].due)
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

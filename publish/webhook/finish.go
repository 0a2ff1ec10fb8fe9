package webhook

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// finish acts on what came of an attempt.
func (s *session) finish(r result) error {
	s.inFlight--
	now := time.Now()
	switch {
	case r.err == nil:
		s.delivered(r, now)
	case r.status == http.StatusGone:
		s.attempted(r, attemptFailed, time.Time{})
		s.disable(now)
		return errGone
	case errors.Is(r.err, context.Canceled): // the program stops; the delivery comes again after the next start
	default:
		s.retryOrGiveUp(r, now)
	}
	return nil
}

func (s *session) delivered(r result, now time.Time) {
	r.lane.done(r.events...)
	s.metrics.count(delivered, len(r.events))
	s.metrics.Sent(len(r.events))
	if !r.lane.again {
		s.metrics.ObserveDelay(r.events)
	}
	s.attempted(r, attemptDelivered, time.Time{})
	if s.outage.isOut() {
		s.logger.Info("webhook: endpoint is up again", "down", now.Sub(s.outage.since).Round(time.Millisecond))
	}
	if s.outage.down {
		s.waiting.makeDue(s.outage.since, now)
	}
	s.outage = outage{}
	s.turn(Active, now)
}

// retryOrGiveUp decides whether and when there is another attempt.
func (s *session) retryOrGiveUp(r result, now time.Time) {
	d := r.delivery
	d.failed = now
	if d.attempt == 1 {
		d.first = now
	}
	wasDown, wasOut := s.outage.down, s.outage.isOut()
	s.outage.failed(d, now, r.status, refused(r.err))
	s.turn(Failing, s.outage.since)
	s.logFailure(r, wasOut)
	if asksForLess(r.status) || r.status == http.StatusServiceUnavailable {
		s.notBefore = latest(s.notBefore, now.Add(r.retryAfter))
	}
	if !wasDown {
		d.counted++
	}
	if d.counted > len(s.Retries) || wasDown && now.Sub(d.first) >= s.schedule() {
		s.attempted(r, attemptDead, time.Time{})
		s.giveUp(d, now, fmt.Sprintf("not delivered to %s in %d attempts since %s: %v",
			s.Name, d.attempt, d.first.UTC().Format(time.RFC3339), r.err))
		return
	}
	s.metrics.Failed()
	pause := jitter(s.Retries[min(max(d.counted, 1), len(s.Retries))-1])
	d.due = now.Add(max(pause, r.retryAfter))
	heap.Push(&s.waiting, d)
	s.attempted(r, attemptFailed, s.retryAt(d))
}

// logFailure logs a failure.
func (s *session) logFailure(r result, wasOut bool) {
	if s.outage.isOut() && !wasOut {
		s.logger.Error("webhook: endpoint is down; it is tried with one delivery at a time", "error", r.err)
	}
	if !s.outage.isOut() {
		s.failing.Do(func() {
			s.logger.Warn("webhook: retrying delivery", "attempt", r.attempt, "error", r.err)
		})
	}
}

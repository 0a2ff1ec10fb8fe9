package webhook

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"refrain/feed"
	"refrain/publish"
)

const (
	grace       = 2 * time.Second // for requests under way when the program stops
	commitEvery = time.Second
	storeWithin = 5 * time.Second // the last commit
	// letterPause is between two tries to write a dead letter.
	letterPause = 30 * time.Second
)

// errGone ends a session whose endpoint has answered 410.
var errGone = errors.New("the endpoint is gone")

// session delivers from the cursor on, until something ends it. Its fields belong to the goroutine of run.
type session struct {
	*Endpoint
	reader *publish.Reader

	batch     batch
	fresh     []*delivery // never tried, in the order read
	waiting   byDue       // failed, to be tried again
	lost      byDue       // failed for good, and not yet among the dead letters
	held      bool        // so many wait that no more are read
	flying    int
	outage    outage
	hold      time.Time // the endpoint has asked not to be sent anything before
	turnFresh bool      // the last delivery begun was a fresh one

	events  chan []publish.Event
	results chan result
	stopped chan error // why reading has ended
	running sync.WaitGroup
}

// session reads, delivers, and stores the cursor at the end, whatever the reason for it.
func (e *Endpoint) session(ctx context.Context) error {
	reader, err := publish.OpenReader(ctx, publish.ReaderConfig{
		Topic: e.deps.Topic, Store: e.deps.Store, Name: e.Name, Deleted: e.deps.Deleted, Logger: e.deps.Logger,
	})
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }() // it was only read
	defer e.metrics.WatchLag(reader)()
	e.open(reader)
	s := &session{
		Endpoint: e, reader: reader,
		events: make(chan []publish.Event), results: make(chan result, e.Concurrency), stopped: make(chan error, 1),
	}
	err = s.deliver(ctx)
	s.note()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	if err := reader.Commit(last); err != nil {
		e.logger.Warn("webhook: cursor not stored; what was delivered since comes again", "error", err)
	}
	return err
}

// deliver starts what works beside run, and waits for its end.
func (s *session) deliver(ctx context.Context) error {
	reading, stop := context.WithCancel(ctx)
	sending, abort := context.WithCancel(context.WithoutCancel(ctx))
	s.running.Go(func() { s.stopped <- s.read(reading) })
	s.running.Go(func() { s.commit(reading) })
	err := s.run(ctx, sending)
	stop()
	s.drain(abort)
	s.running.Wait()
	if t, ok := s.client.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	return err
}

// read hands on what passes the filter.
func (s *session) read(ctx context.Context) error {
	for {
		events, err := s.reader.Next(ctx)
		if err != nil {
			return err
		}
		if events = s.pick(events); len(events) == 0 {
			continue
		}
		select {
		case s.events <- events:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *session) pick(events []publish.Event) []publish.Event {
	wanted := make([]publish.Event, 0, len(events))
	for _, e := range events {
		ok, err := s.Filter.wants(&e)
		if err != nil {
			s.logger.Error("webhook: unreadable event left out", "place", e.Place, "error", err)
		}
		if ok {
			wanted = append(wanted, e)
			continue
		}
		s.reader.Done(e)
	}
	s.metrics.count(filtered, len(events)-len(wanted))
	return wanted
}

// commit stores the cursor now and then: beside run, which a slow store must not hold up.
func (s *session) commit(ctx context.Context) {
	for sleep(ctx, commitEvery) {
		if err := s.reader.Commit(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("webhook: cursor not stored, to be tried again", "error", err)
		}
	}
}

// run is the loop: start what may be started, then wait for something to happen.
func (s *session) run(ctx, sending context.Context) error {
	wake := time.NewTimer(0)
	defer wake.Stop()
	for {
		now := time.Now()
		s.bury(now)
		s.closeBatch(now)
		s.start(sending, now)
		s.note()
		wake.Reset(s.idle(now))
		select {
		case events := <-s.intake():
			s.take(events, time.Now())
		case r := <-s.results:
			if err := s.settle(r); err != nil {
				return err
			}
		case err := <-s.stopped:
			return err
		case <-wake.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// drain gives the requests under way their grace.
func (s *session) drain(abort func()) {
	timer := time.AfterFunc(grace, abort)
	defer timer.Stop()
	defer abort()
	for s.flying > 0 {
		_ = s.settle(<-s.results) // a second 410 changes nothing
	}
}

// intake is where events come from, or nil while there are enough.
func (s *session) intake() <-chan []publish.Event {
	if len(s.fresh) >= 2*s.Concurrency || s.held {
		return nil
	}
	return s.events
}

// count is how many events wait for a retry, or for a dead letter to be written.
func (s *session) count() (n int) {
	for _, q := range []byDue{s.waiting, s.lost} {
		for _, d := range q {
			n += len(d.events)
		}
	}
	return n
}

// take makes deliveries of events. A retraction waits for no company.
func (s *session) take(events []publish.Event, now time.Time) {
	for _, e := range events {
		if s.Batch == 1 || e.Type == feed.RetractedType {
			s.fresh = append(s.fresh, &delivery{events: []publish.Event{e}})
			continue
		}
		if n := len(s.batch.events); n > 0 && s.batch.bytes+len(e.Data) > maxBatchBytes {
			s.fresh = append(s.fresh, s.batch.take())
		}
		s.batch.add(e, now, s.BatchWait)
		if len(s.batch.events) == s.Batch {
			s.fresh = append(s.fresh, s.batch.take())
		}
	}
}

// closeBatch ends the batch whose time is up.
func (s *session) closeBatch(now time.Time) {
	if len(s.batch.events) > 0 && !s.batch.due.After(now) {
		s.fresh = append(s.fresh, s.batch.take())
	}
}

// start begins as many deliveries as may be under way.
func (s *session) start(ctx context.Context, now time.Time) {
	for s.flying < s.most() && !s.opens().After(now) {
		d := s.next(now)
		if d == nil {
			return
		}
		if s.prune(d); len(d.events) == 0 {
			continue
		}
		s.flying++
		d.attempt++
		s.running.Go(func() { s.results <- s.send(ctx, d) })
	}
}

// prune is done with the events of a delivery that show a post which has been deleted since they were read.
func (s *session) prune(d *delivery) {
	if gone := d.prune(s.deps.Deleted); len(gone) > 0 {
		s.reader.Done(gone...)
		s.metrics.count(deleted, len(gone))
	}
}

// most is how many deliveries may be under way: one, as a probe, when the endpoint is down.
func (s *session) most() int {
	if s.outage.down {
		return 1
	}
	return s.Concurrency
}

// opens is when the next delivery may begin, as far as the endpoint is concerned.
func (s *session) opens() time.Time {
	if s.outage.down {
		return later(s.hold, s.outage.probe)
	}
	return s.hold
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// next takes the delivery whose turn it is, or nil. Fresh ones and failed ones take turns, or some that the endpoint
// will never take could hold up all others. A probe of an endpoint that is down need not be due.
func (s *session) next(now time.Time) *delivery {
	again := len(s.waiting) > 0 && (s.outage.down || !s.waiting[0].due.After(now))
	if again && len(s.fresh) > 0 {
		again = s.turnFresh
	}
	s.turnFresh = !again
	if again {
		return heap.Pop(&s.waiting).(*delivery)
	}
	if len(s.fresh) == 0 {
		return nil
	}
	d := s.fresh[0]
	s.fresh = slices.Delete(s.fresh, 0, 1)
	return d
}

// idle is how long nothing will have to be done, if nothing happens.
func (s *session) idle(now time.Time) time.Duration {
	next := now.Add(time.Hour)
	sooner := func(t time.Time) {
		if t.Before(next) {
			next = t
		}
	}
	if len(s.batch.events) > 0 {
		sooner(s.batch.due)
	}
	if len(s.lost) > 0 {
		sooner(s.lost[0].due)
	}
	if s.flying < s.most() && len(s.fresh)+len(s.waiting) > 0 {
		sooner(s.startable())
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

// settle acts on what came of an attempt.
func (s *session) settle(r result) error {
	s.flying--
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
		s.failed(r, now)
	}
	return nil
}

func (s *session) delivered(r result, now time.Time) {
	s.reader.Done(r.events...)
	s.metrics.count(delivered, len(r.events))
	s.metrics.Sent(len(r.events))
	s.attempted(r, attemptDelivered, time.Time{})
	if s.outage.down {
		s.logger.Info("webhook: endpoint is up again", "down", now.Sub(s.outage.since).Round(time.Millisecond))
		s.waiting.hurry(s.outage.since, now)
	}
	s.outage = outage{}
	s.turn(Active, now)
}

// failed decides whether and when there is another attempt.
func (s *session) failed(r result, now time.Time) {
	d := r.delivery
	d.failed = now
	if d.attempt == 1 {
		d.first = now
	}
	wasDown := s.outage.down
	s.outage.failed(d, now, refused(r.err))
	s.turn(Failing, s.outage.since)
	if s.outage.down && !wasDown {
		s.logger.Error("webhook: endpoint is down; it is tried with one delivery at a time", "error", r.err)
	}
	if !s.outage.down {
		s.failing.Do(func() {
			s.logger.Warn("webhook: a delivery has failed; it is tried again, and others go on", "attempt", d.attempt, "error", r.err)
		})
	}
	if r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable {
		s.hold = later(s.hold, now.Add(r.retryAfter))
	}
	if !wasDown {
		d.counted++
	}
	if d.counted > len(s.Retries) || wasDown && now.Sub(d.first) >= s.schedule() {
		s.attempted(r, attemptDead, time.Time{})
		s.lose(d, now, fmt.Sprintf("not delivered to %s in %d attempts since %s: %v",
			s.Name, d.attempt, d.first.UTC().Format(time.RFC3339), r.err))
		return
	}
	s.metrics.Failed()
	pause := jitter(s.Retries[min(max(d.counted, 1), len(s.Retries))-1])
	d.due = now.Add(max(pause, r.retryAfter))
	heap.Push(&s.waiting, d)
	s.attempted(r, attemptFailed, s.again(d))
}

// again is when a delivery may be tried again.
func (s *session) again(d *delivery) time.Time {
	if s.outage.down {
		return s.opens()
	}
	return later(s.opens(), d.due)
}

// lose gives a delivery up: its events become dead letters.
func (s *session) lose(d *delivery, now time.Time, reason string) {
	d.reason, d.due = reason, now
	heap.Push(&s.lost, d)
}

// bury writes the dead letters. As long as that fails their events stay undone, so none is lost silently.
func (s *session) bury(now time.Time) {
	for len(s.lost) > 0 && !s.lost[0].due.After(now) {
		d := heap.Pop(&s.lost).(*delivery)
		if err := s.letters(d); err != nil {
			s.logger.Error("webhook: dead letters not written, to be tried again", "error", err)
			d.due = now.Add(letterPause)
			heap.Push(&s.lost, d)
			return
		}
	}
}

// letters writes the dead letters of one delivery; those written are done with, also if a later one fails. Nothing is
// kept there of posts deleted meanwhile.
func (s *session) letters(d *delivery) error {
	s.prune(d)
	for len(d.events) > 0 {
		e := d.events[0]
		if s.deps.DeadLetters == nil {
			s.logger.Error("webhook: event given up", "id", e.ID, "place", e.Place, "reason", d.reason)
		} else if err := s.deps.DeadLetters.Write("webhook "+s.Name+" "+e.Place, d.reason, e.Data); err != nil {
			return err
		}
		s.dying.Do(func() {
			s.logger.Error("webhook: an event is given up and goes to the dead letters", "id", e.ID, "place", e.Place, "reason", d.reason)
		})
		s.reader.Done(e)
		s.metrics.count(dead, 1)
		s.buried(1)
		d.events = d.events[1:]
	}
	return nil
}

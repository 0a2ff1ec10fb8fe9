package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"refrain/internal/retry"
	"refrain/publish"
)

const (
	shutdownTimeout = 2 * time.Second // for requests under way when the program stops
	commitEvery     = time.Second
	storeWithin     = 5 * time.Second // the last commit
)

// errGone ends a session whose endpoint has answered 410.
var errGone = errors.New("the endpoint is gone")

// session delivers from the cursor on, until something ends it: schedule.go says what may start when, finish.go what
// comes of it. Its fields belong to the goroutine of run.
type session struct {
	*Endpoint
	live   *lane
	again  *lane // what is sent again; nil: nothing is
	ending bool  // the store is being told that a replay has ended

	waiting   byDue // failed, to be tried again
	givenUp   byDue // failed for good, and not yet among the dead letters
	held      bool  // so many wait that no more are read
	inFlight  int
	outage    outage
	notBefore time.Time // the endpoint has asked not to be sent anything before
	turnFresh bool      // the last delivery begun was a fresh one
	turnAgain bool      // and the last fresh one was one sent again
	paused    time.Time // since when this session has seen that the endpoint is paused

	replays chan *lane // those whose reading has ended
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
		Endpoint: e, live: newLane(false), results: make(chan result, e.Concurrency), replays: make(chan *lane, 1),
		stopped: make(chan error, 2), // of both lanes
	}
	s.live.reader = reader
	err = s.deliver(ctx)
	s.note()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	for _, l := range s.lanes() {
		if l.reader == nil {
			continue
		}
		if err := l.reader.Commit(last); err != nil {
			e.logger.Warn("webhook: cursor not stored; what was delivered since comes again", "error", err)
		}
	}
	return err
}

// deliver starts what works beside run, and waits for its end.
func (s *session) deliver(ctx context.Context) error {
	reading, stop := context.WithCancel(ctx)
	sending, abort := context.WithCancel(context.WithoutCancel(ctx))
	s.running.Go(func() { s.stopped <- s.read(reading, s.live.reader) })
	s.running.Go(func() { s.commit(reading, s.live.reader) })
	err := s.run(ctx, reading, sending)
	stop()
	s.drain(abort)
	s.running.Wait()
	s.client.CloseIdleConnections()
	return err
}

// read hands on what passes the filter.
func (s *session) read(ctx context.Context, reader *publish.Reader) error {
	for {
		events, err := reader.Next(ctx)
		if err != nil {
			return err
		}
		if err := s.offer(ctx, s.live, s.pick(events, reader.Done)); err != nil {
			return err
		}
	}
}

// pick returns the events that pass the filter, and is done with the others.
func (s *session) pick(events []publish.Event, done func(...publish.Event)) []publish.Event {
	wanted := make([]publish.Event, 0, len(events))
	for _, e := range events {
		ok, err := s.Filter.wants(&e)
		if err != nil {
			s.logger.Error("webhook: unreadable event left out", "place", e.Offset, "error", err)
		}
		if ok {
			wanted = append(wanted, e)
			continue
		}
		done(e)
	}
	s.metrics.count(filtered, len(events)-len(wanted))
	return wanted
}

// commit stores the cursor now and then: beside run, which a slow store must not hold up.
func (s *session) commit(ctx context.Context, reader *publish.Reader) {
	for retry.Sleep(ctx, commitEvery) == nil {
		if err := reader.Commit(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("webhook: retrying commit", "error", err)
		}
	}
}

// run is the loop: start what may be started, then wait for something to happen.
func (s *session) run(ctx, reading, sending context.Context) error {
	wake := time.NewTimer(0)
	defer wake.Stop()
	for {
		now := time.Now()
		s.observePause(now)
		s.deadLetter(now)
		for _, l := range s.lanes() {
			l.closeBatch(now)
		}
		s.start(sending, now)
		s.advanceReplay(reading)
		s.note()
		wake.Reset(s.untilNext(now))
		select {
		case events := <-s.intake(s.live):
			s.live.enqueue(events, time.Now(), &s.Config)
		case events := <-s.intake(s.again):
			s.again.enqueue(events, time.Now(), &s.Config)
		case l := <-s.replays:
			l.ended = true
		case <-s.changed:
		case r := <-s.results:
			if err := s.finish(r); err != nil {
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

// drain gives the requests under way the shutdown timeout.
func (s *session) drain(abort func()) {
	timer := time.AfterFunc(shutdownTimeout, abort)
	defer timer.Stop()
	defer abort()
	for s.inFlight > 0 {
		_ = s.finish(<-s.results) // a second 410 changes nothing
	}
}

package webhook

import (
	"context"
	"slices"
	"time"

	"refrain/feed"
	"refrain/publish"
)

// lane is what a session reads, up to its deliveries that were never tried: the event topic from the cursor on, or what is
// sent again. What has failed is of both.
type lane struct {
	reader *publish.Reader // whose events are done; nil: nothing has to be told, for dead letters
	events chan []publish.Event
	batch  batch
	fresh  []*delivery        // never tried, in the order read
	open   int                // events that are neither delivered nor given up
	ended  bool               // no more are read
	again  bool               // they are sent again
	stop   context.CancelFunc // ends what works beside run for it; nil of live
}

func newLane(again bool) *lane { return &lane{events: make(chan []publish.Event), again: again} }

// enqueue makes deliveries of events, of so many at most. A retraction waits for no company.
func (l *lane) enqueue(events []publish.Event, now time.Time, c *Config) {
	l.open += len(events)
	for _, e := range events {
		if c.Batch == 1 || e.Type == feed.RetractedType {
			l.fresh = append(l.fresh, &delivery{lane: l, events: []publish.Event{e}})
			continue
		}
		if n := len(l.batch.events); n > 0 && l.batch.bytes+len(e.Data) > maxBatchBytes {
			l.flush()
		}
		l.batch.add(e, now, c.BatchWait)
		if len(l.batch.events) == c.Batch {
			l.flush()
		}
	}
}

func (l *lane) flush() {
	d := l.batch.flush()
	d.lane = l
	l.fresh = append(l.fresh, d)
}

// closeBatch ends the batch whose time is up.
func (l *lane) closeBatch(now time.Time) {
	if len(l.batch.events) > 0 && !l.batch.due.After(now) {
		l.flush()
	}
}

// pop returns the next delivery that was never tried, nil without one.
func (l *lane) pop() *delivery {
	if len(l.fresh) == 0 {
		return nil
	}
	d := l.fresh[0]
	l.fresh = slices.Delete(l.fresh, 0, 1)
	return d
}

// done says that events need not be offered again.
func (l *lane) done(events ...publish.Event) {
	l.open -= len(events)
	if l.reader != nil {
		l.reader.Done(events...)
	}
}

// isDone reports whether everything that was read is delivered or given up, and nothing follows.
func (l *lane) isDone() bool { return l.ended && l.open == 0 }

// lanes are what is read now.
func (s *session) lanes() []*lane {
	if s.again == nil {
		return []*lane{s.live}
	}
	return []*lane{s.live, s.again}
}

// fresh is how many deliveries were never tried.
func (s *session) fresh() (n int) {
	for _, l := range s.lanes() {
		n += len(l.fresh)
	}
	return n
}

// nextFresh takes from both lanes in turn.
func (s *session) nextFresh() *delivery {
	lanes := s.lanes()
	if len(lanes) == 2 {
		s.turnAgain = !s.turnAgain
		if s.turnAgain {
			slices.Reverse(lanes)
		}
	}
	for _, l := range lanes {
		if d := l.pop(); d != nil {
			return d
		}
	}
	return nil
}

// intake is where a lane's events come from, or nil while there are enough.
func (s *session) intake(l *lane) <-chan []publish.Event {
	if l == nil || len(l.fresh) >= 2*s.Concurrency || s.held {
		return nil
	}
	return l.events
}

// offer hands events that pass the filter to run.
func (s *session) offer(ctx context.Context, l *lane, events []publish.Event) error {
	if len(events) == 0 {
		return nil
	}
	select {
	case l.events <- events:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

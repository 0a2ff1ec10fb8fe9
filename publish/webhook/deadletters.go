package webhook

import (
	"container/heap"
	"time"
)

// letterPause is between two tries to write a dead letter.
const letterPause = 30 * time.Second

// giveUp gives a delivery up: its events become dead letters.
func (s *session) giveUp(d *delivery, now time.Time, reason string) {
	d.reason, d.due = reason, now
	heap.Push(&s.givenUp, d)
}

// deadLetter writes the dead letters. As long as that fails their events stay undone, so none is lost silently.
func (s *session) deadLetter(now time.Time) {
	for len(s.givenUp) > 0 && !s.givenUp[0].due.After(now) {
		d := heap.Pop(&s.givenUp).(*delivery)
		if err := s.letters(d); err != nil {
			s.logger.Error("webhook: retrying dead letter", "error", err)
			d.due = now.Add(letterPause)
			heap.Push(&s.givenUp, d)
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
			s.logger.Error("webhook: event given up", "id", e.ID, "place", e.Offset, "reason", d.reason)
		} else if err := s.deps.DeadLetters.Write("webhook "+s.Name+" "+e.Offset, d.reason, e.Data); err != nil {
			return err
		}
		s.givingUp.Do(func() {
			s.logger.Error("webhook: an event is given up and goes to the dead letters", "id", e.ID, "place", e.Offset,
				"reason", d.reason)
		})
		d.lane.done(e)
		s.metrics.count(dead, 1)
		s.countDead(1)
		d.events = d.events[1:]
	}
	return nil
}

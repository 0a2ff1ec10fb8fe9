package webhook

import (
	"container/heap"
	"time"
)

// letterPause is between two tries to write a dead letter.
const letterPause = 30 * time.Second

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

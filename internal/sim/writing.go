package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"refrain/feed"
)

// writer is the slot of a Writer, and which of the sources are its own.
type writer struct {
	Writer
	expects bool      // it has been told what to expect
	ticked  time.Time // when it last was
}

// deletion is a tombstone, and a time that it was stamped no later than.
type deletion struct {
	feed.Tombstone
	by time.Time
}

// tick lets the writers write watermarks. Meanwhile no batch of a source can go out: the writer would make it wait.
func (w *world) tick() {
	var free []*source
	for _, s := range w.sources {
		if !s.busy {
			s.busy = true
			free = append(free, s)
		}
	}
	for _, writer := range w.writers {
		w.rest(writer)
		if w.failure != nil {
			return
		}
		writer.Tick(context.Background(), w.now)
	}
	for _, s := range free {
		s.busy = false
	}
}

// rest counts the time without posts as the writer is to: a source that has none for 30 s may be idle.
func (w *world) rest(of *writer) {
	gap := min(w.now.Sub(of.ticked), 5*time.Second)
	of.ticked = w.now
	for _, s := range w.sources {
		if s.writer != of {
			continue
		}
		if s.pending != nil { // its posts are on their way
			s.quiet = 0
			of.Touch(s.name)
			continue
		}
		s.quiet += gap
		s.dropped = s.dropped || s.quiet >= 30*time.Second
	}
}

// limit is the newest time that a post of s may have without making one that is on its way too late: no clock may
// get more than lateness ahead of it.
func (w *world) limit(s *source) feed.Time {
	limit := feed.Time(1 << 50)
	for _, o := range w.sources {
		if o != s && o.pending != nil && (!o.pending.again || o.pending.anew) {
			limit = min(limit, o.pending.oldest.Add(w.plan.Lateness+w.maxLead(o)))
		}
	}
	return limit
}

// maxLead is how far the others may get ahead of a source.
func (w *world) maxLead(of *source) time.Duration {
	if !w.plan.Apart || of.dropped {
		return 0
	}
	return w.plan.MaxHold
}

// write hands on the next batch of s, or once more the last one, if that failed.
func (w *world) write(s *source) {
	if s.busy {
		return
	}
	if s.silent > 0 {
		s.silent--
		return
	}
	if w.IntN(30) == 0 {
		s.silent = 20
	}
	if !w.expected(s.writer) {
		return
	}
	if s.pending == nil {
		if w.plan.Apart && w.depth == 0 && w.IntN(20) == 0 && !w.move(s) {
			return
		}
		s.pending = w.feeder.batch(w, s, w.limit(s))
	}
	if s.pending != nil {
		w.deliver(s)
	}
}

func (w *world) deliver(s *source) {
	s.busy = true
	defer func() { s.busy = false }()
	d := s.pending
	s.quiet = 0 // it has posts, whatever becomes of them
	if s.writer.Write(context.Background(), d.posts, s.name) != nil {
		if w.IntN(2) == 0 && w.feeder.sendAnew(w, s, d) {
			d.anew = d.again
		}
		return
	}
	s.pending = nil
	if d.again {
		return
	}
	s.dropped = false
	w.accepted = append(w.accepted, d.posts...)
	if !d.hasFuture {
		s.acked = append(s.acked, d)
	}
}

// redeliver hands on once more what was acknowledged long ago.
func (w *world) redeliver(s *source) {
	if s.busy || s.pending != nil || len(s.acked) == 0 || !w.expected(s.writer) {
		return
	}
	d := *s.acked[w.IntN(len(s.acked))]
	if w.IntN(2) == 0 {
		d = *s.acked[len(s.acked)-1]
	}
	d.posts, d.again = slices.Clone(d.posts), true
	if w.IntN(4) > 0 && w.feeder.sendAnew(w, s, &d) {
		d.anew, d.oldest = true, feed.FromTime(w.now)
	}
	s.pending = &d
	w.deliver(s)
}

// postAfterDeletion lets sources post, and workers read that, right after a deletion.
func (w *world) postAfterDeletion() {
	for range w.IntN(8) {
		w.goBy(time.Millisecond)
		w.write(w.sources[w.IntN(len(w.sources))])
		w.work(w.slots[w.IntN(len(w.slots))])
	}
}

func (w *world) delete() {
	if len(w.accepted) == 0 {
		return
	}
	p := w.accepted[w.IntN(len(w.accepted))]
	t := feed.Tombstone{Source: p.Source, Post: p.ID}
	if w.IntN(2) == 0 {
		t = feed.Tombstone{Source: p.Source, Author: p.Author}
	}
	err := w.writers[0].Delete(context.Background(), []feed.Tombstone{t})
	w.deleted = append(w.deleted, deletion{t, w.now}) // even if the writing failed half-way
	w.postAfterDeletion()
	if err != nil && !errors.Is(err, errInjected) {
		w.failure = err
	}
}

// start ends the life of a writer, clocks and all; batches on their way are delivered to the next one.
func (w *world) start(of *writer) {
	next, err := w.subject.Writer(w.env(&agent{world: w}, nil))
	if err != nil {
		w.failure = err
		return
	}
	of.Writer, of.expects, of.ticked = next, !w.plan.Apart, w.now
}

// expected tells a writer which sources it has, before it gets any post of them.
func (w *world) expected(of *writer) bool {
	if of.expects || w.depth > 0 { // in the middle of a watermark it would have to wait for that
		return of.expects
	}
	var names []string
	for _, s := range w.sources {
		if s.writer == of {
			names = append(names, s.name)
		}
	}
	of.expects = of.Expect(context.Background(), names) == nil
	return of.expects
}

// move gives a source to another writer, which learns of it before it gets a post.
func (w *world) move(s *source) bool {
	to := w.writers[w.IntN(len(w.writers))]
	switch {
	case to == s.writer:
		return true
	case !w.expected(to):
		return false
	}
	s.busy = true
	defer func() { s.busy = false }()
	if to.Expect(context.Background(), []string{s.name}) != nil {
		return false
	}
	s.writer = to
	return true
}

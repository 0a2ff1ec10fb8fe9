package shard

import "time"

// Spent is what the look-ups of some records of one origin have cost a worker.
type Spent struct {
	Origin    string
	Sentences int
	Took      time.Duration // in all partitions of the worker, with their part of the time in which events became durable
}

// timed calls look for x and notes how long that took. What a spill takes meanwhile is not x's alone: see report.
func (q *partition) timed(x *item, look func(*item)) {
	begin, spilled := q.now(), q.found.spilled
	look(x)
	x.took.Add(int64(q.now().Sub(begin) - (q.found.spilled - spilled)))
}

// eventsAtOnce is how many events become durable in about the time that one takes: a single one does not cost an append.
const eventsAtOnce = 128

// looked remembers records that are looked up, until their events are durable too. What is looked up again for a partition
// that was taken over is in nobody's account.
func (w *Worker) looked(items []*item) {
	for _, x := range items {
		if x.position >= w.reported[x.partition] {
			w.reported[x.partition] = x.position + 1
			w.done = append(w.done, x)
		}
	}
}

// report tells what the records looked up since the last call have cost. The time in which events became durable is shared
// out by their number: who comes when much of it waits is not to pay for the others.
func (w *Worker) report() {
	if len(w.done) == 0 {
		return
	}
	var all int64
	newest := w.health.lookedUpTo.Load()
	for _, x := range w.done {
		all += x.events.Load()
		newest = max(newest, x.stamp)
	}
	w.health.lookedUpTo.Store(newest)
	if w.cfg.Spent != nil {
		w.cfg.Spent(w.spentBy(float64(w.appending) / float64(max(eventsAtOnce, all))))
	}
	clear(w.done)
	w.done, w.appending = w.done[:0], 0
}

// spentBy joins what stands together of one origin. What was accepted before the start is in nobody's account.
func (w *Worker) spentBy(perEvent float64) (all []Spent) {
	for _, x := range w.done {
		n := len(x.posts()) + x.batch.TooShort
		if n == 0 || x.stamp < w.opened {
			continue
		}
		if len(all) == 0 || all[len(all)-1].Origin != x.origin {
			all = append(all, Spent{Origin: x.origin})
		}
		last := &all[len(all)-1]
		last.Sentences += n
		last.Took += time.Duration(x.took.Load()) + time.Duration(perEvent*float64(x.events.Load()))
	}
	return all
}

// LookedUpTo is the newest stamp of the records that are looked up everywhere, their events durable: so is what was stamped
// before, but for writers whose clocks, and appends under way, differ by a little.
func (w *Worker) LookedUpTo() time.Time { return time.Unix(0, w.health.lookedUpTo.Load()) }

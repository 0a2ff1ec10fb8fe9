package sigstore

import (
	"math"
	"time"

	"refrain/feed"
)

// Advance moves the clock W on; it never falls. What is older than W - span - lateness may go.
func (w *Window) Advance(to feed.Time) {
	if w.clock.isPast(to) {
		return
	}
	if !w.clock.started {
		w.start(to)
	}
	w.clock.set(to)
	w.groups.forget(w.clock.lateBefore())
	if b := w.blocks.current(); to-b.opened >= w.slice {
		w.close()
	}
	w.expire()
}

// start gives a time to the blocks that were opened and closed before there was a clock.
func (w *Window) start(at feed.Time) {
	for _, b := range w.blocks.all {
		b.opened, b.closed = at, at
	}
}

// Horizon is the time before which occurrences have gone or may go: W - span - lateness, or later if the
// budget forced more out.
func (w *Window) Horizon() feed.Time { return w.clock.horizon() }

// IsLate reports whether t is further behind the clock than the lateness: promises are for what is not.
func (w *Window) IsLate(t feed.Time) bool { return t < w.clock.lateBefore() }

// isFull: a block also closes when it holds half of all groups, so that tokens are ordered by frequencies
// that are not too old, a sixteenth of the budget, or as much as positions can name.
func (w *Window) isFull(b *block) bool {
	return b.isFull(max(w.cfg.cut.minRows, w.Len()/2)) || w.isLarge(b)
}

// isLarge reports whether a block holds too much of the budget.
func (w *Window) isLarge(b *block) bool {
	return w.cfg.Budget > 0 && b.rows > 64 && w.Bytes()/int64(max(1, w.Len()))*int64(b.live) > w.cfg.Budget/int64(w.cfg.cut.parts)
}

// close ends the open block and opens the next. An empty one just goes on.
func (w *Window) close() {
	b := w.blocks.current()
	if b.isEmpty() {
		b.opened = w.clock.now
		return
	}
	b.close(w.clock.now)
	w.open()
}

// expire lets the blocks go whose end lies before the horizon.
func (w *Window) expire() {
	horizon, dropped := w.Horizon(), false
	for w.blocks.oldest().endsBefore(horizon) {
		w.dropOldest(horizon)
		dropped = true
	}
	if dropped {
		w.shrink()
		w.groups.reindexPosts()
	}
}

// dropOldest removes the oldest block. Its groups with an occurrence at the horizon or later move on.
func (w *Window) dropOldest(horizon feed.Time) (groups int) {
	b := w.blocks.oldest()
	w.dropSigned()
	b.each(func(n uint32) {
		g := Group{b, n}
		if _, left := w.groups.drop(g, func(o *occurrence) bool { return o.time < horizon }); left == 0 {
			w.groups.bury(g)
			groups++
			return
		}
		if w.isFull(w.blocks.current()) {
			w.close()
		}
		numbers := w.groups.numbersOf(g)
		w.sign(numbers)
		w.groups.moveOn(g, numbers)
	})
	w.groups.dropBlock()
	return groups
}

// dropSigned lets the oldest block of the indexes go.
func (w *Window) dropSigned() {
	w.index.Drop()
	if w.recoding != nil {
		w.recoding.drop()
	}
}

// shrink builds the window anew when most of its tables is unused.
func (w *Window) shrink() {
	if w.groups.isSparse() {
		w.rebuild()
	}
}

// rebuild numbers the tokens anew and writes every block again.
func (w *Window) rebuild() {
	before, old := w.groups.renumber()
	w.reindex()
	for _, b := range old {
		w.open()
		to := w.blocks.current()
		to.opened, to.epoch = b.opened, b.epoch
		b.each(func(n uint32) { w.again(Group{b, n}, &before) })
		to.closed, to.full = b.closed, b.full
	}
	w.groups.renumbered(len(old))
	if w.recoding != nil {
		w.Recode(w.recoding.to) // all numbers are others now
	}
}

// reindex begins with an index of no rows.
func (w *Window) reindex() {
	closeIndex(w.index)
	w.index = w.cfg.Engine(w)
}

// again moves a group whose tokens were numbered before.
func (w *Window) again(g Group, before *dictionary) {
	numbers := w.groups.numberAgain(g, before)
	w.sign(numbers)
	w.groups.moveAgain(g, numbers)
}

// Forced says what the budget drove out before its time.
type Forced struct {
	Groups int           // texts dropped
	Span   time.Duration // what the window still holds of its span
	Bytes  int64         // what it holds now
}

func (w *Window) overBudget() bool { return w.cfg.Budget > 0 && w.Bytes() > w.cfg.Budget }

// makeRoom drops the oldest blocks while the window holds more than its budget: first what was last seen
// before the block ended, and if that is not enough whole blocks.
func (w *Window) makeRoom() {
	if !w.overBudget() {
		return
	}
	if w.abandon(); !w.overBudget() {
		return
	}
	if len(w.blocks.all) == 1 {
		w.close()
	}
	f := Forced{Groups: w.force(func(b *block) feed.Time { return b.closed + 1 })}
	f.Groups += w.force(func(*block) feed.Time { return math.MaxInt64 })
	w.forced = true
	w.shrink()
	w.counts.Forced += int64(f.Groups)
	f.Span, f.Bytes = w.effectiveSpan(), w.Bytes()
	if w.cfg.OnForced != nil {
		w.cfg.OnForced(f)
	}
}

// force drops closed blocks, each once, until the window is within its budget.
func (w *Window) force(horizon func(*block) feed.Time) (groups int) {
	for n := len(w.blocks.all) - 1; n > 0 && w.Bytes() > w.cfg.Budget; n-- {
		b := w.blocks.oldest()
		w.clock.drive(b.closed + 1)
		groups += w.dropOldest(horizon(b))
		w.groups.reindexPosts() // it is part of what the window holds
	}
	return groups
}

// effectiveSpan is how far back the window reaches for certain.
func (w *Window) effectiveSpan() time.Duration {
	if !w.forced {
		return w.cfg.Span
	}
	return max(0, min(w.cfg.Span, w.clock.reach()))
}

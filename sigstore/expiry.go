package sigstore

import (
	"math"
	"slices"
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
	w.foreign.forget(w.clock.lateBefore())
	if b := w.current(); to-b.opened >= w.slice {
		w.close()
	}
	w.expire()
}

// start gives a time to the blocks that were opened and closed before there was a clock.
func (w *Window) start(at feed.Time) {
	for _, b := range w.blocks {
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
	if w.cfg.Budget > 0 && b.rows > 64 && w.Bytes()/int64(max(1, w.Len()))*int64(b.live) > w.cfg.Budget/int64(w.cfg.cut.parts) {
		return true
	}
	return b.rows >= max(w.cfg.cut.minRows, w.Len()/2) || len(b.arena.pages) >= maxArena
}

// close ends the open block and opens the next. An empty one just goes on.
func (w *Window) close() {
	b := w.current()
	if b.rows == 0 && len(b.arena.pages) == 0 {
		b.opened = w.clock.now
		return
	}
	b.closed, b.full = w.clock.now, true
	w.open()
}

// expire lets the blocks go whose end lies before the horizon.
func (w *Window) expire() {
	horizon, dropped := w.Horizon(), false
	for w.blocks[0].full && w.blocks[0].closed < horizon {
		w.dropOldest(horizon)
		dropped = true
	}
	if dropped {
		w.shrink()
	}
	if dropped && w.posts != nil {
		w.indexPosts()
	}
}

// dropOldest removes the oldest block. Its groups with an occurrence at the horizon or later move on.
func (w *Window) dropOldest(horizon feed.Time) (groups int) {
	b := w.blocks[0]
	w.index.Drop()
	if w.recoding != nil {
		w.recoding.drop()
	}
	b.each(func(n uint32) {
		g := Group{b, n}
		if _, left := w.drop(g, func(o *occurrence) bool { return o.time < horizon }); left == 0 {
			w.bury(g)
			groups++
			return
		}
		if w.isFull(w.current()) {
			w.close()
		}
		to := w.move(g, readSet(w.numbers[:0], b.set(n)))
		w.groups.renumber(to.row().key(), g.number(), to.number())
	})
	w.blocks = slices.Delete(w.blocks, 0, 1) // clears the place behind, which would keep a block alive
	w.bases = slices.Delete(w.bases, 0, 1)
	w.dropped++
	w.epoch++
	w.forgetViews()
	return groups
}

// shrink builds the window anew when most of its tables is unused.
func (w *Window) shrink() {
	if w.tokens.sparse() || w.groupsPeak >= 1024 && w.Len() < w.groupsPeak/4 {
		w.rebuild()
	}
}

// rebuild numbers the tokens anew and writes every block again.
func (w *Window) rebuild() {
	before, old := w.tokens, len(w.blocks)
	closeIndex(w.index)
	w.tokens, w.groups = newDictionary(w.cfg.Model), table{}
	w.index, w.dropped = w.cfg.Engine(w), -uint32(old) // until the old blocks go
	for _, b := range w.blocks[:old] {
		w.open()
		to := w.current()
		to.opened, to.epoch = b.opened, b.epoch
		b.each(func(n uint32) { w.again(Group{b, n}, before) })
		to.closed, to.full = b.closed, b.full
	}
	w.blocks, w.bases = slices.Delete(w.blocks, 0, old), slices.Delete(w.bases, 0, old)
	w.many, w.freeMany = slices.Clip(w.many), nil
	for n, m := range w.many {
		if m == nil {
			w.freeMany = append(w.freeMany, n)
		}
	}
	w.dropped, w.groupsPeak = 0, w.Len()
	w.epoch++
	if w.recoding != nil {
		w.Recode(w.recoding.to) // all numbers are others now
	}
}

// again moves a group whose tokens were numbered before.
func (w *Window) again(g Group, before *dictionary) {
	w.numbers = readSet(w.numbers[:0], g.block.set(g.n))
	for i, n := range w.numbers {
		w.numbers[i] = w.tokens.take(before.id(n))
	}
	slices.Sort(w.numbers)
	to := w.move(g, w.numbers)
	w.groups.add(to.row().key(), to.number(), w.keyOf)
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
	if len(w.blocks) == 1 {
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
	for n := len(w.blocks) - 1; n > 0 && w.Bytes() > w.cfg.Budget; n-- {
		w.clock.drive(w.blocks[0].closed + 1)
		groups += w.dropOldest(horizon(w.blocks[0]))
		if w.posts != nil {
			w.indexPosts() // it is part of what the window holds
		}
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

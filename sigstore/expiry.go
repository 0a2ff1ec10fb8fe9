package sigstore

import "refrain/feed"

// Advance moves the clock W on; it never falls. What is older than W - span - lateness may go.
func (w *Window) Advance(to feed.Time) {
	if w.clock.isPast(to) {
		return
	}
	if !w.clock.started {
		w.blocks.start(to)
	}
	w.clock.set(to)
	w.groups.expireRemote(w.clock.lateBefore())
	if b := w.blocks.current(); to-b.opened >= w.slice {
		w.close()
	}
	w.expire()
}

// Horizon is the time before which occurrences have gone or may go: W - span - lateness, or later if the
// budget forced more out.
func (w *Window) Horizon() feed.Time { return w.clock.horizon() }

// IsLate reports whether t is further behind the clock than the lateness: promises are for what is not.
func (w *Window) IsLate(t feed.Time) bool { return t < w.clock.lateBefore() }

// isFull: a block also closes when it holds half of all groups, so that tokens are ordered by frequencies
// that are not too old, a sixteenth of the budget, or as much as positions can name.
func (w *Window) isFull(b *block) bool {
	return b.isFull(max(w.granularity.minRows, w.Len()/2)) || w.isLarge(b)
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
	}
}

// dropOldest removes the oldest block. Its groups with an occurrence at the horizon or later move on.
func (w *Window) dropOldest(horizon feed.Time) (groups int) {
	b := w.blocks.oldest()
	w.searcher.drop()
	b.each(func(n uint32) {
		g := Group{b, n}
		if !w.groups.clean(g) {
			return
		}
		if _, remaining := w.groups.removeOccurrences(g, func(o *occurrence) bool { return o.time < horizon }); remaining == 0 {
			w.groups.removeGroup(g)
			groups++
			return
		}
		if w.isFull(w.blocks.current()) {
			w.close()
		}
		numbers := w.groups.numbersOf(g)
		w.searcher.add(numbers)
		w.groups.moveOn(g, numbers)
	})
	w.groups.dropBlock()
	return groups
}

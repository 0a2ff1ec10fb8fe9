package sigstore

import (
	"math"
	"time"

	"refrain/feed"
)

// Forced says what was evicted for the budget, before its time.
type Forced struct {
	Groups      int           // texts dropped
	Occurrences int           // of texts that stay, dropped
	Span        time.Duration // what the window still holds of its span
	Bytes       int64         // what it holds now
}

func (w *Window) overBudget() bool { return w.budget > 0 && w.Bytes() > w.limit() }

// limit is what the window may hold of its budget, if it has one.
func (w *Window) limit() int64 {
	if w.reserved == nil {
		return w.budget
	}
	return w.budget - w.reserved()
}

// isLarge reports whether a block holds too much of the budget.
func (w *Window) isLarge(b *block) bool {
	return w.budget > 0 && b.rows > 64 && w.Bytes()/int64(max(1,
		w.Len()))*int64(b.live) > w.limit()/int64(w.granularity.parts)
}

// makeRoom drops something while the window holds more than its budget: first what few texts hold of it beyond their
// share, since all the others would have to go for them; then the oldest blocks: what was last seen before a block ended,
// and if that is not enough whole blocks.
func (w *Window) makeRoom() {
	if !w.overBudget() {
		return
	}
	if w.searcher.abandon(); !w.overBudget() {
		return
	}
	f := Forced{Occurrences: w.groups.truncateLists(w.limit() / int64(w.granularity.parts))}
	if w.overBudget() {
		f.Groups = w.forceBlocks()
	}
	w.forced = true
	w.shrink()
	w.counts.Forced += int64(f.Groups)
	w.counts.ForcedOccurrences += int64(f.Occurrences)
	f.Span, f.Bytes = w.effectiveSpan(), w.Bytes()
	if w.onForced != nil {
		w.onForced(f)
	}
}

func (w *Window) forceBlocks() (groups int) {
	w.closeOnly()
	groups = w.force(func(b *block) feed.Time { return b.closed + 1 })
	w.closeOnly() // what has moved on is in the open block
	return groups + w.force(func(*block) feed.Time { return math.MaxInt64 })
}

// closeOnly closes the open block where it is the only one, if the window holds too much.
func (w *Window) closeOnly() {
	if w.overBudget() && w.blocks.len() == 1 {
		w.close()
	}
}

// force drops closed blocks, each once, until the window is within its budget.
func (w *Window) force(horizon func(*block) feed.Time) (groups int) {
	for n := w.blocks.len() - 1; n > 0 && w.Bytes() > w.limit(); n-- {
		b := w.blocks.oldest()
		w.clock.evict(b.closed + 1)
		groups += w.dropOldest(horizon(b))
	}
	return groups
}

// effectiveSpan is how far back the window certainly reaches.
func (w *Window) effectiveSpan() time.Duration {
	if !w.forced {
		return w.configuredSpan
	}
	return max(0, min(w.configuredSpan, w.clock.reach()))
}

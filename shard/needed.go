package shard

import "slices"

// Needs are the lowest positions that a worker reads when it goes on from s: of q to have its rows again, of the others
// from where they were looked up.
func (s *State) Needs() []int64 {
	needs := slices.Clone(s.Look)
	needs[s.Partition] = min(needs[s.Partition], s.ReplayFrom)
	return needs
}

// Needed are the lowest positions that are still needed to go on from what this worker has stored, one a partition.
// What lies below them for every worker may be purged: its look-ups are done, their events durable, and no window has
// it any more. A worker that lost its partitions and knows it not may store an older state again; what that asks for
// in vain was done by the one that took over.
func (w *Worker) Needed() []int64 {
	w.stored.Lock()
	defer w.stored.Unlock()
	return slices.Clone(w.needed)
}

// keepNeeded takes note of what the states that are stored now need.
func (w *Worker) keepNeeded() {
	needed := w.owned[0].state.Needs()
	for _, q := range w.owned[1:] {
		needed = Least(needed, q.state.Needs())
	}
	w.stored.Lock()
	defer w.stored.Unlock()
	w.needed = needed
}

// Least are the lower positions of two vectors. Only for what is needed: what was looked up is never merged.
func Least(a, b []int64) []int64 {
	least := slices.Clone(a)
	for p := range least {
		least[p] = min(least[p], b[p])
	}
	return least
}

package shard

import "slices"

// Needs are the lowest positions that a worker reads when it goes on from s: of q to have its rows again, of the others
// from where they were looked up, and of all what tells redeliveries.
func (s *State) Needs() []int64 {
	needs := slices.Clone(s.LookupFrom)
	needs[s.Partition] = min(needs[s.Partition], s.ReplayFrom)
	for p := range needs {
		needs[p] = min(needs[p], s.ObserveFrom[p].position)
	}
	return needs
}

// Needed are the lowest positions that are still needed to go on from what this worker has stored, one a partition.
// What lies below them for every worker may be purged: its look-ups are done, their events durable, and no window has
// it any more. A worker that lost its partitions and does not know may store an older state again; what that asks
// for in vain was done by the one that took over.
func (w *Worker) Needed() []int64 {
	w.stored.Lock()
	defer w.stored.Unlock()
	return slices.Clone(w.needed)
}

// updateNeeded notes what the states that are stored now need, the older ones too.
func (w *Worker) updateNeeded() {
	needed := w.ownNeeds()
	for _, older := range w.olderNeeds {
		if older != nil {
			needed = MinPositions(needed, older)
		}
	}
	replaysFrom := map[int]int64{}
	for _, q := range w.owned {
		replaysFrom[q.id] = q.state.ReplayFrom
	}
	w.stored.Lock()
	defer w.stored.Unlock()
	w.needed, w.replaysFrom = needed, replaysFrom
}

// ReplaysFrom are, by owned partition, the lowest positions that may hold a sentence of the window.
func (w *Worker) ReplaysFrom() map[int]int64 {
	w.stored.Lock()
	defer w.stored.Unlock()
	return w.replaysFrom // never changed
}

// ownNeeds are what the states of the owned partitions need.
func (w *Worker) ownNeeds() []int64 {
	needs := w.owned[0].state.Needs()
	for _, q := range w.owned[1:] {
		needs = MinPositions(needs, q.state.Needs())
	}
	return needs
}

// maxPositions are the higher ones.
func maxPositions(a, b []int64) []int64 {
	highest := slices.Clone(a)
	for p := range highest {
		highest[p] = max(highest[p], b[p])
	}
	return highest
}

// MinPositions are the lower positions of two vectors. Only for what is needed: what was looked up is never merged.
func MinPositions(a, b []int64) []int64 {
	lowest := slices.Clone(a)
	for p := range lowest {
		lowest[p] = min(lowest[p], b[p])
	}
	return lowest
}

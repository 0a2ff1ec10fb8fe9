package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// A worker gets partitions from another one of the process, and gives some up, between its turns.

// errEmpty says that a worker has no partitions any more.
var errEmpty = errors.New("the worker has no partitions any more")

// share shows others what is owned, and gives each partition its part of what may wait in memory.
func (w *Worker) share() {
	owned := slices.Clone(w.owned)
	w.serving.Store(&owned)
	for _, q := range owned {
		q.found.maxBytes = max(1, w.cfg.EventBytes/len(owned))
	}
}

func (w *Worker) isEmpty() bool { return len(*w.serving.Load()) == 0 }

// firstUndone is the first position of p that has still to be looked up in some rows, or inserted.
func (w *Worker) firstUndone(p int) int64 {
	first := w.lookedUpTo(p)
	if q := w.home[p]; q != nil {
		first = min(first, q.insert)
	}
	return first
}

// rereads are the positions from which every partition is read again where the worker forgets what waits in its queue.
func (w *Worker) rereads() []int64 {
	from := slices.Clone(w.next)
	for p := range from {
		from[p] = min(from[p], w.firstUndone(p))
	}
	return from
}

// store makes the events durable and stores the states, each whole, whenever that was done last.
func (w *Worker) store(ctx context.Context) error {
	if len(w.owned) == 0 {
		return errEmpty
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	return w.commit(ctx, 0)
}

// adopt takes the partitions of another worker of the process over, which is empty then; unless it is not known here any more
// what of the records that it still has to look up is redelivered. Each partition keeps its own positions; the reader goes
// back to the first record that any of them needs, and what the others have passed they pass over.
func (w *Worker) adopt(ctx context.Context, other *Worker, moving func(move func())) error {
	w.turning.Lock()
	defer w.turning.Unlock()
	other.turning.Lock()
	defer other.turning.Unlock()
	if err := other.store(ctx); err != nil {
		return fmt.Errorf("hand partitions over: %w", err)
	}
	if len(w.owned) == 0 || w.topics != other.topics ||
		!w.redeliveries.adopt(other.redeliveries, other.rereads(), other.allNeeds()) {
		return nil
	}
	moving(func() { w.absorb(other) })
	return nil
}

// absorb moves the partitions. Nothing of the other worker waits for the event topic.
func (w *Worker) absorb(other *Worker) {
	w.forgetRead()
	from := MinPositions(w.rereads(), other.rereads())
	for _, q := range other.owned {
		w.home[q.id], other.home[q.id] = q, nil
	}
	w.owned, other.owned = append(w.owned, other.owned...), nil
	w.next = from
	w.deleted.goBack(other.deleted.next)
	w.knowsDeletions(w.deleted.next)
	w.progress.lower(w.lookedUpTo)
	w.mergeOlder(other)
	w.moved = true
	w.share()
	other.share()
	_ = other.closeReaders() // only read
}

// forgetRead drops what was read and is not done: it is read again.
func (w *Worker) forgetRead() {
	w.next = w.rereads()
	w.queue = newQueue(len(w.next))
	w.dropReader()
}

// mergeOlder notes what the older states of the other worker's partitions need.
func (w *Worker) mergeOlder(other *Worker) {
	for slot, needs := range other.olderNeeds {
		switch {
		case needs == nil:
		case w.olderNeeds[slot] == nil:
			w.olderNeeds[slot] = needs
		default:
			w.olderNeeds[slot] = MinPositions(w.olderNeeds[slot], needs)
		}
	}
	w.updateNeeded()
}

// release gives a partition up: its events are durable and its state is stored when it returns nil, and nobody uses its
// rows any more.
func (w *Worker) release(ctx context.Context, q *partition) error {
	w.turning.Lock()
	defer w.turning.Unlock()
	if err := w.store(ctx); err != nil {
		return fmt.Errorf("give partition %d up: %w", q.id, err)
	}
	w.remove(q)
	return nil
}

// abandon gives a partition up that another process has taken over: what is not stored is done there.
func (w *Worker) abandon(q *partition) {
	w.turning.Lock()
	defer w.turning.Unlock()
	w.remove(q)
}

func (w *Worker) remove(q *partition) {
	q.lock.Lock()
	q.gone = true
	q.lock.Unlock()
	w.owned = slices.DeleteFunc(w.owned, func(o *partition) bool { return o == q })
	w.home[q.id] = nil
	w.share()
	if len(w.owned) == 0 {
		_ = w.closeReaders() // only read
		return
	}
	for p := range w.queue.parts {
		w.looked(w.queue.drop(p, w.lookedUpTo(p)))
	}
	w.updateNeeded()
}

// replayed is how much of what the topic held when a worker was opened it has read.
type replayed struct {
	ends        []int64
	first, last int64 // sums of positions
	at          atomic.Int64
}

func (r *replayed) begin(next, ends []int64) {
	r.ends, r.first, r.last = ends, sum(next), sum(maxPositions(next, ends))
	r.at.Store(r.first)
}

func (r *replayed) note(next []int64) { r.at.Store(sum(next)) }

// percent is how much of it was read; 100 where there was nothing.
func (r *replayed) percent() int {
	if r.last == r.first {
		return 100
	}
	return int(100 * min(r.last-r.first, max(0, r.at.Load()-r.first)) / (r.last - r.first))
}

// CaughtUp reports whether all that the sentence topic held when the worker was opened is looked up in its rows, with its
// events durable.
func (w *Worker) CaughtUp() bool { return w.progress.passed(w.opening.ends) }

package shard

import (
	"context"
	"fmt"
	"slices"

	"refrain/topic"
)

// restore makes the owned partitions as they were stored, their rows empty: q is read again from replayFrom.
func (w *Worker) restore(ctx context.Context) error {
	x, err := w.extent(ctx)
	if err != nil {
		return err
	}
	for _, id := range w.cfg.Owned {
		if id < 0 || id >= len(w.home) || w.home[id] != nil {
			return fmt.Errorf("partition %d of %d: not there, or owned twice", id, len(w.home))
		}
		q, err := w.restorePartition(ctx, id, &x)
		if err == nil {
			err = w.readOlder(ctx, id)
		}
		if err != nil {
			return fmt.Errorf("partition %d: %w", id, err)
		}
		w.home[id] = q
		w.owned = append(w.owned, q)
	}
	w.loadSnapshots(ctx, &x)
	for _, q := range w.owned {
		w.raiseObserveFrom(q, x.start)
		w.liftToStart(ctx, q, x.start)
	}
	w.share()
	w.startObserving()
	w.updateNeeded()
	for p := range w.next {
		w.next[p] = min(w.firstUndone(p), w.redeliveries.next[p])
	}
	w.opening.begin(w.next, x.end)
	w.progress.reach(w.lookedUpTo) // what a state says is durable
	return nil
}

// startObserving makes the worker observe every partition from where the first of its owned ones must.
func (w *Worker) startObserving() {
	from, undone := make([]observePoint, len(w.home)), make([]int64, len(w.home))
	for p := range from {
		undone[p] = w.firstUndone(p)
		from[p] = w.owned[0].observeFrom(p)
		for _, q := range w.owned[1:] {
			if at := q.observeFrom(p); at.position < from[p].position {
				from[p] = at
			}
		}
	}
	var ok bool
	if w.redeliveries, ok = w.cfg.Redeliveries.addObserver(from, undone, w.allNeeds()); !ok {
		w.redeliveries, _ = w.cfg.Redeliveries.another().addObserver(from, undone, w.allNeeds())
	}
	w.prependSteps()
}

func (w *Worker) restorePartition(ctx context.Context, id int, x *extent) (*partition, error) {
	state, epoch, err := w.takeOver(ctx, id, x)
	if err != nil {
		return nil, err
	}
	rows, err := w.cfg.Rows(id)
	if err != nil {
		return nil, fmt.Errorf("make rows: %w", err)
	}
	q := &partition{id: id, epoch: epoch, rows: rows, state: *state, insert: state.ReplayFrom, counted: state.LookupFrom[id],
		stretch: (w.cfg.Span + w.cfg.Lateness + w.cfg.MaxHold) / maxStretches,
		deletes: w.cfg.Control != nil, caused: w.cfg.Caused, now: w.cfg.Now}
	if !w.cfg.Sentences.Ordered() {
		q.recent = new(recent)
	}
	q.found, q.report, q.lock = newFound(w), q.add, newLock()
	return q, nil
}

// advanceRows lets the rows have the clocks that were stored, once it is known what was deleted.
func (w *Worker) advanceRows() {
	for _, q := range w.owned {
		if clock, known := q.state.Watermarks.Clock(); known {
			q.rows.Advance(clock)
		}
	}
}

// liftToStart goes on from what the topic still has, and logs what it may have dropped too early. Where
// partitions share their positions, nothing is missing unless the oldest record of all is newer.
func (w *Worker) liftToStart(ctx context.Context, q *partition, start []int64) {
	oldest := slices.Min(start)
	for p, s := range start {
		from := q.state.LookupFrom[p]
		if p == q.id {
			from = min(from, q.insert)
		}
		if s <= from {
			continue
		}
		if !w.cfg.Sentences.Ordered() || oldest > from {
			w.skipTruncated(ctx, &topic.ErrTruncated{Partition: p, From: from, Start: s})
		}
		q.skip(p, s)
	}
}

// raiseObserveFrom observes from what the topic still has, and says what it has dropped.
func (w *Worker) raiseObserveFrom(q *partition, start []int64) {
	oldest := slices.Min(start)
	if at := q.snapshots.observe; at != nil {
		at.position = max(at.position, start[q.id])
	}
	for p, s := range start {
		at := &q.state.ObserveFrom[p]
		if s <= at.position {
			continue
		}
		if at.position < q.needs(p) && (!w.cfg.Sentences.Ordered() || oldest > at.position) {
			w.logUnobserved(&topic.ErrTruncated{Partition: p, From: at.position, Start: s})
		}
		at.position = s
	}
}

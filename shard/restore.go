package shard

import (
	"context"
	"fmt"
	"slices"

	"refrain/feed"
	"refrain/topic"
)

// restore makes the owned partitions as they were stored, their rows empty: q is read again from replayFrom.
func (w *Worker) restore(ctx context.Context) error {
	start, end, err := w.cfg.Sentences.Bounds(ctx)
	if err != nil {
		return fmt.Errorf("ask for the bounds of the sentence topic: %w", err)
	}
	for _, id := range w.cfg.Owned {
		if id < 0 || id >= len(w.home) || w.home[id] != nil {
			return fmt.Errorf("partition %d of %d: not there, or owned twice", id, len(w.home))
		}
		q, err := w.restorePartition(ctx, id, start, end)
		if err != nil {
			return fmt.Errorf("partition %d: %w", id, err)
		}
		w.home[id] = q
		w.owned = append(w.owned, q)
	}
	for p := range w.next {
		w.next[p] = w.looked(p)
		if q := w.home[p]; q != nil {
			w.next[p] = min(w.next[p], q.insert)
		}
	}
	return nil
}

func (w *Worker) restorePartition(ctx context.Context, id int, start, end []int64) (*partition, error) {
	state, err := w.load(ctx, id)
	if err != nil {
		return nil, err
	}
	if state == nil {
		state = &State{Partition: id, Look: slices.Clone(start), ReplayFrom: start[id], Marks: newMarks(len(start))}
	}
	rows, err := w.cfg.Rows(id)
	if err != nil {
		return nil, fmt.Errorf("make rows: %w", err)
	}
	q := &partition{id: id, rows: rows, state: *state, insert: state.ReplayFrom, counted: state.Look[id], mostFound: w.cfg.MaxEvents}
	w.lowerToEnd(q, end)
	w.liftToStart(ctx, q, start)
	if clock, known := state.Marks.Clock(); known {
		rows.Advance(clock)
	}
	return q, nil
}

// load returns what is stored of a partition, nil without any.
func (w *Worker) load(ctx context.Context, id int) (*State, error) {
	data, err := w.cfg.Store.Get(ctx, stateKey(id))
	if err != nil || data == nil {
		return nil, err
	}
	state, err := DecodeState(data)
	if err != nil {
		return nil, err
	}
	if n := len(w.home); len(state.Look) != n || state.Partition != id {
		return nil, fmt.Errorf("the stored state is of partition %d of %d, the topic has %d: "+
			"the number of partitions cannot change while a window is kept", state.Partition, len(state.Look), n)
	}
	return state, nil
}

// liftToStart goes on from what the topic still has, and is loud about what it may have dropped too early. Where
// partitions share their positions, nothing is missing unless the oldest record of all is newer.
func (w *Worker) liftToStart(ctx context.Context, q *partition, start []int64) {
	oldest := slices.Min(start)
	for p, s := range start {
		from := q.state.Look[p]
		if p == q.id {
			from = min(from, q.insert)
		}
		if s <= from {
			continue
		}
		if !w.cfg.Sentences.Ordered() || oldest > from {
			w.lose(ctx, &topic.ErrTruncated{Partition: p, From: from, Start: s})
		}
		q.skip(p, s)
	}
}

// lowerToEnd goes back to what the topic has, where the stored state knows of more: the topic has lost its tail, as
// after a power cut without sync, and what comes next takes the places of what is lost. Where partitions share their
// positions, look-ups pass the end of a quiet one as others grow: only the end of all says that something is lost.
func (w *Worker) lowerToEnd(q *partition, end []int64) {
	if w.cfg.Sentences.Ordered() {
		end = slices.Repeat([]int64{slices.Max(end)}, len(end))
	}
	for p, e := range end {
		if q.state.Look[p] <= e {
			continue
		}
		w.cfg.Logger.Error("the sentence topic has lost records that were acknowledged",
			"partition", p, "end", e, "known", q.state.Look[p])
		q.state.Look[p] = e
	}
	q.insert = min(q.insert, end[q.id])
	q.counted = min(q.counted, end[q.id])
}

// readDeletions takes in new tombstones: the rows show no such post any more, and the owner of partition 0 says so in
// the event topic. It asks once a poll.
func (w *Worker) readDeletions(ctx context.Context) error {
	now := w.cfg.Now()
	if w.deleted.control == nil || !w.asked.IsZero() && now.Sub(w.asked) < w.cfg.Poll {
		return nil
	}
	fresh, err := w.deleted.read(ctx)
	w.each(func(q *partition) {
		for i := range fresh {
			q.delete(&fresh[i])
		}
	})
	w.retract(fresh)
	if err != nil {
		return err
	}
	w.asked = now
	if w.cfg.Retention > 0 {
		w.deleted.forget(now.Add(-w.cfg.Retention))
	}
	return nil
}

func (w *Worker) retract(fresh []deletion) {
	q := w.home[0]
	if q == nil {
		return
	}
	for _, d := range fresh {
		if d.position >= q.state.Control {
			w.outbox.retract(d.Tombstone, feed.FromTime(d.time))
		}
	}
	if n := len(fresh); n > 0 {
		q.state.Control = max(q.state.Control, fresh[n-1].position+1)
		w.moved = true
	}
}

package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"refrain/topic"
)

// maxClockDrift is how far the stamps of two writers of the event topic may be out of order.
const maxClockDrift = time.Minute

// Range is where the events of a time range are in the topic: From and Until hold one position a partition, Until exclusive. Events
// of up to a minute before and after may be among them, since the clocks of those who append do not agree.
type Range struct{ From, Until []int64 }

// upTo is what there is of r in a topic that may have lost its end since.
func (r Range) upTo(end []int64) Range {
	r = Range{slices.Clone(r.From), slices.Clone(r.Until)}
	for p := range end {
		r.From[p], r.Until[p] = min(r.From[p], end[p]), min(r.Until[p], end[p])
	}
	return r
}

// ErrNotKept says that a time lies before what the topic has kept.
type ErrNotKept struct {
	Oldest time.Time // when the oldest event that is kept was appended; the zero time: none is
}

func (e *ErrNotKept) Error() string {
	if e.Oldest.IsZero() {
		return "no event is kept any more"
	}
	return "the oldest event that is kept is of " + e.Oldest.UTC().Format(time.RFC3339Nano)
}

// FindRange finds the events appended at a time or later, the zero time being the oldest that is kept, and before another.
// It is an *ErrNotKept where the topic has dropped events and may have dropped some of these.
func FindRange(ctx context.Context, t topic.Topic, from, to time.Time) (Range, error) {
	start, end, err := t.Bounds(ctx)
	if err != nil {
		return Range{}, err
	}
	if err := checkKept(ctx, t, start, end, from); err != nil {
		return Range{}, err
	}
	r := Range{slices.Clone(start), slices.Clone(end)}
	for p := range start {
		var errFrom, errUntil error
		r.From[p], errFrom = firstSince(ctx, t, p, start[p], end[p], from.Add(-maxClockDrift))
		r.Until[p], errUntil = firstSince(ctx, t, p, r.From[p], end[p], to.Add(maxClockDrift))
		if err := errors.Join(errFrom, errUntil); err != nil {
			return Range{}, fmt.Errorf("find events of %v in partition %d: %w", from, p, err)
		}
	}
	return r, nil
}

// checkKept is an error where the topic has dropped events of a time.
func checkKept(ctx context.Context, t topic.Topic, start, end []int64, at time.Time) error {
	if at.IsZero() {
		return nil
	}
	some, gone := false, &ErrNotKept{}
	for p := range start {
		if start[p] >= end[p] {
			continue
		}
		oldest, dropped, err := recordAt(ctx, t, p, 0)
		if err != nil {
			return fmt.Errorf("find the oldest event of partition %d: %w", p, err)
		}
		if some = true; dropped && at.Before(oldest.Time) && oldest.Time.After(gone.Oldest) {
			gone.Oldest = oldest.Time
		}
	}
	if !gone.Oldest.IsZero() || !some && emptied(ctx, t) {
		return gone
	}
	return nil
}

// gapWithin is how long a reader of an empty topic may take to find out that it has missed something.
const gapWithin = 250 * time.Millisecond

// emptied reports whether a topic without records ever had some.
func emptied(ctx context.Context, t topic.Topic) bool {
	within, cancel := context.WithTimeout(ctx, gapWithin)
	defer cancel()
	for p := range t.Partitions() {
		if _, gap, _ := recordAt(within, t, p, 0); gap { // without a gap there is nothing, and time runs out
			return true
		}
	}
	return false
}

// firstSince is the first position of a partition between two whose record was appended at a time or later: the second where
// there is none.
func firstSince(ctx context.Context, t topic.Topic, partition int, low, high int64, at time.Time) (int64, error) {
	for low < high {
		middle := low + (high-low)/2
		r, _, err := recordAt(ctx, t, partition, middle)
		switch {
		case err != nil:
			return 0, err
		case !r.Time.Before(at):
			high = middle
		default:
			low = r.Position + 1
		}
	}
	return low, nil
}

// recordAt returns the first record of a partition at a position or behind it, where there must be one. gap: retention has
// dropped records from the position on.
func recordAt(ctx context.Context, t topic.Topic, partition int, position int64) (r topic.Record, gap bool, err error) {
	from := slices.Repeat([]int64{-1}, t.Partitions())
	from[partition] = position
	reader, err := t.Open(ctx, from)
	if err != nil {
		return r, false, err
	}
	defer reader.Close()
	for {
		records, err := reader.Fetch(ctx)
		var truncated *topic.ErrTruncated
		switch {
		case errors.As(err, &truncated):
			gap = true
		case err != nil:
			return r, gap, err
		case len(records) > 0:
			return records[0], gap, nil
		}
	}
}

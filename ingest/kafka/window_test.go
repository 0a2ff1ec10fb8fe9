package kafka

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestWindowNeverPassesOverWhatIsNotAcknowledged plays a reader that hands on offsets in order, and acknowledgements
// that come in any order, late, twice, for batches of long ago, and that fail. What may be committed must never lie
// beyond a record that is not acknowledged, and in the end everything must be.
func TestWindowNeverPassesOverWhatIsNotAcknowledged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const end = 40
		type batch struct {
			from, to int64
			span     *span
		}
		var (
			w       = newWindow(0)
			acked   = map[int64]bool{}
			batches []batch
			next    int64
		)
		check := func() {
			at, _ := w.uncommitted()
			for i := range at {
				if !acked[i] {
					t.Fatalf("may commit %d, but %d is not acknowledged", at, i)
				}
			}
		}
		acknowledge := func(b batch, err error) {
			if err == nil {
				for i := b.from; i < b.to; i++ {
					acked[i] = true
				}
			}
			w.acknowledge(b.span, err)
			check()
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"hand", "skip", "ack", "ack", "fail", "again"}).Draw(t, "step") {
			case "hand":
				to := min(next+rapid.Int64Range(1, 5).Draw(t, "records"), end)
				if s := w.hand(to); s != nil && to > next {
					batches = append(batches, batch{next, to, s})
					next = to
				}
			case "skip":
				if to := min(next+1, end); w.skip(to) {
					for i := next; i < to; i++ {
						acked[i] = true // there is nothing there
					}
					next = to
				}
			case "ack":
				if len(batches) > 0 {
					acknowledge(rapid.SampledFrom(batches).Draw(t, "batch"), nil)
				}
			case "fail":
				if len(batches) > 0 && rapid.IntRange(0, 3).Draw(t, "luck") == 0 {
					acknowledge(rapid.SampledFrom(batches).Draw(t, "batch"), errors.New("disk full"))
				}
			case "again":
				if at, failed := w.rereadFrom(); failed {
					next = at
				}
			}
			check()
		}
		if at, failed := w.rereadFrom(); failed {
			next = at
		}
		for _, b := range batches {
			acknowledge(b, nil)
		}
		if at, _ := w.uncommitted(); at != next {
			t.Fatalf("all is acknowledged up to %d, and %d may be committed", next, at)
		}
	})
}

func TestWindowAfterAReset(t *testing.T) {
	w := newWindow(100)
	old := w.hand(110)
	w.reset(0) // the topic was made anew
	w.acknowledge(old, nil)
	if at, changed := w.uncommitted(); at != 0 || !changed {
		t.Errorf("may commit %d (%v), want 0: what was acknowledged is of another log", at, changed)
	}
}

func TestWindowWithoutAnOffset(t *testing.T) {
	if at, changed := newWindow(-1).uncommitted(); changed {
		t.Errorf("may commit %d before anything is known", at)
	}
}

// TestAStaleFailure: of two batches that fail, the second is void already, and makes nobody read again.
func TestAStaleFailure(t *testing.T) {
	w := newWindow(0)
	first, second := w.hand(1), w.hand(2)
	w.acknowledge(first, errors.New("disk full"))
	if at, failed := w.rereadFrom(); at != 0 || !failed {
		t.Fatalf("read again from %d (%v)", at, failed)
	}
	again := w.hand(1)
	w.acknowledge(second, errors.New("disk full"))
	w.acknowledge(again, nil)
	if at, _ := w.uncommitted(); at != 1 || w.broken() {
		t.Errorf("may commit %d, failed %v", at, w.broken())
	}
}

package shard

import (
	"testing"
	"time"

	"refrain/feed"
)

// TestForgetTombstones: old tombstones go, soon after their time, and the walk over all of them is seldom made.
func TestForgetTombstones(t *testing.T) {
	d, start := newDeletions(nil), time.Unix(1e9, 0)
	for i := range 3 {
		d.stamps[feed.Tombstone{Post: string(rune('a' + i))}] = start.Add(time.Duration(i) * forgetEvery)
	}
	for _, step := range []struct {
		after time.Duration
		left  int
	}{{0, 3}, {1, 3}, {forgetEvery - 1, 3}, {forgetEvery, 2}, {2*forgetEvery - 1, 2}, {2*forgetEvery + 1, 0}} {
		if d.forget(start.Add(step.after)); len(d.stamps) != step.left {
			t.Errorf("after %v: %d tombstones, want %d", step.after, len(d.stamps), step.left)
		}
	}
}

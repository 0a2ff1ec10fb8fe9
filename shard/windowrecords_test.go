package shard

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"refrain/feed"
)

// TestWindowRecordsAreBounded: however many records there are, what is remembered of them is not, and a replay begins no
// later than it must, and hardly earlier. Two sources are hours apart, so that neighbours never have the same time.
func TestWindowRecordsAreBounded(t *testing.T) {
	const reach, records = 24 * time.Hour, 500_000
	cfg := Config{Span: reach}
	q := &partition{stretch: reach / maxStretches}
	rng := rand.New(rand.NewPCG(1, 1))
	var newest []feed.Time
	for i := range records {
		at := feed.Time(int64(i) * reach.Milliseconds() / records).Add(-time.Duration(rng.IntN(2)) * 7 * time.Hour)
		newest = append(newest, at)
		q.appendRecord(int64(i), at)
	}
	q.insert = records
	if n := len(q.window); n > maxStretches+1 {
		t.Fatalf("%d records are remembered as %d, want %d at most", records, n, maxStretches+1)
	}
	for _, clock := range []time.Duration{reach + reach/3, 2*reach - time.Hour, 3 * reach} {
		q.state.Watermarks.clock, q.state.Watermarks.known = feed.Time(clock.Milliseconds()), true
		q.trim(cfg.Span)
		horizon := feed.Time((clock - reach).Milliseconds())
		first := slices.IndexFunc(newest, func(n feed.Time) bool { return n >= horizon })
		if first < 0 {
			first = records
		}
		early := slices.IndexFunc(newest, func(n feed.Time) bool { return n >= horizon.Add(-q.stretch) })
		if got := q.state.ReplayFrom; got > int64(first) || first < records && got < int64(early) {
			t.Errorf("clock %v: replay from %d, want %d at most, %d at least", clock, got, first, early)
		}
	}
}

// TestQueuesOfACrewAreShared: the bound is that of a process, however many workers catch up.
func TestQueuesOfACrewAreShared(t *testing.T) {
	c := &Crew{cfg: CrewConfig{Worker: Default(), Workers: 3}, changed: newBroadcast()}
	if one, all := c.workerConfig(0).MaxQueue, Default().MaxQueue; one*(3+maxLate) > all {
		t.Errorf("a worker's queue is %d bytes, %d workers' more than %d", one, 3+maxLate, all)
	}
}

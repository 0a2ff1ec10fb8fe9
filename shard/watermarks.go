package shard

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"refrain/feed"
	"refrain/topic"
)

// Watermarks are the clocks that the look-ups in the rows of one partition have observed, and W, the window's clock,
// which follows from them: the lowest of the last watermarks observed, over all partitions and all writers that are not
// idle. A writer's watermark is the lowest clock of its own source partitions that are not idle. W never falls, and does
// not move while nobody is active.
//
// A watermark counts when the look-ups have passed it, not when it was read: what stands before it in its partition may
// still need the rows that it would release.
//
// A writer is idle when its last watermark is idle in every partition where there is one. One that is idle here and
// active there counts with both its times: it has woken up, and the partition with the idle watermark may still hold
// posts of it that were written before the watermark that is missing. One without any watermark in some partition holds
// W where it is, for the same reason.
//
// A writer that dies does not announce it, and its source partitions go on with another, whose watermarks cover them
// from then on. So a writer also counts as idle after a good while of silence: the sum of the gaps between the records
// observed in a partition after its last watermark there, each counting 5 s at most. Where nothing is appended there is
// nothing to observe, so a pause of all, however long, makes nobody dead.
//
// maxHold bounds how long the slowest holds W: it is never further behind the highest clock.
type Watermarks struct {
	clock   feed.Time
	known   bool
	newest  []int64                // per partition, the newest stamp observed
	elapsed []int64                // per partition, the sum of the gaps, in nanoseconds
	writers map[uint64][]watermark // by writer, then partition
	fresh   bool                   // watermarks were observed since W was last advanced
}

// watermark is the last of one writer in one partition.
type watermark struct {
	kind         watermarkKind
	time, newest feed.Time
	source       string // whose clock time is
	at           int64  // what had elapsed then
}

// noClock is the time of a source partition that is expected and has brought no posts yet.
const noClock feed.Time = 0

type watermarkKind uint8

const (
	watermarkNone watermarkKind = iota
	watermarkActive
	watermarkIdle
)

// maxGap is how much the time between two records counts towards silence.
const maxGap = 5 * time.Second

func newWatermarks(partitions int) Watermarks {
	return Watermarks{newest: make([]int64, partitions), elapsed: make([]int64, partitions), writers: map[uint64][]watermark{}}
}

// Clock is W; false while no writer has a watermark in every partition.
func (m *Watermarks) Clock() (feed.Time, bool) { return m.clock, m.known }

// observe notes that the look-ups have passed a record of partition p, and its watermark, if it has one.
func (m *Watermarks) observe(p int, stamp int64, next *topic.Watermark) {
	if gap := stamp - m.newest[p]; gap > 0 {
		m.elapsed[p] += min(gap, maxGap.Nanoseconds())
		m.newest[p] = stamp
	}
	if next == nil {
		return
	}
	list := m.writers[next.Writer]
	if list == nil {
		list = make([]watermark, len(m.newest))
		m.writers[next.Writer] = list
	}
	list[p] = watermark{watermarkActive, next.Time, next.Newest, next.Source, m.elapsed[p]}
	if next.Idle {
		list[p].kind = watermarkIdle
	}
	m.fresh = true
}

// advance moves W, and reports whether it did. passed is the source partition whose clock W had to pass for that, because
// it is more than maxHold behind; "" for none. One that has no clock yet holds W as if it were at the beginning of time, but
// nothing of it is known to be behind: then W has passed nobody, and where nobody has a clock there is no W.
func (m *Watermarks) advance(silence, maxHold time.Duration) (moved bool, passed string) {
	if !m.fresh { // W follows from watermarks alone
		return false, ""
	}
	m.fresh = false
	m.expire(silence)
	slowest, everywhere := m.minClock()
	newest, known := m.maxClock()
	clock := slowest.time
	if floor := newest.Add(-maxHold); known && (!everywhere || slowest.time < floor) {
		clock, everywhere = floor, true
	}
	if !everywhere || clock <= m.clock {
		return false, ""
	}
	m.clock, m.known = clock, true
	if slowest.time == noClock || slowest.time >= clock {
		return true, ""
	}
	return true, slowest.source
}

// expire drops the writers that are idle or silent.
func (m *Watermarks) expire(silence time.Duration) {
	maps.DeleteFunc(m.writers, func(_ uint64, list []watermark) bool {
		for p, one := range list {
			if one.kind == watermarkActive && m.elapsed[p]-one.at <= silence.Nanoseconds() {
				return false
			}
		}
		return true
	})
}

// minClock is the watermark with the lowest clock; everywhere: there is one of every writer in every partition, and a
// writer at all.
func (m *Watermarks) minClock() (slowest watermark, everywhere bool) {
	any := false
	everywhere = true
	for _, list := range m.writers {
		for _, one := range list {
			everywhere = everywhere && one.kind != watermarkNone
			if one.kind != watermarkNone && (!any || one.time < slowest.time) {
				slowest, any = one, true
			}
		}
	}
	return slowest, everywhere && any
}

// maxClock is the highest clock that was observed in every partition; false when there is none.
func (m *Watermarks) maxClock() (highest feed.Time, known bool) {
	for _, list := range m.writers {
		if slices.ContainsFunc(list, func(one watermark) bool { return one.kind == watermarkNone }) {
			continue
		}
		newest := slices.MinFunc(list, func(a, b watermark) int { return cmp.Compare(a.newest, b.newest) }).newest
		if !known || newest > highest {
			highest, known = newest, true
		}
	}
	return highest, known
}

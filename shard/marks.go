package shard

import (
	"time"

	"refrain/feed"
	"refrain/topic"
)

// Marks are the clocks that the look-ups in the rows of one partition have met, and W, the window's clock, which
// follows from them: the least of the last marks met, over all partitions and all source partitions that are not
// idle. W never falls, and stays where no source partition is active.
//
// A mark counts when the look-ups have passed it, not when it was read: what stands before it in its partition may
// still need the rows that it would let go.
//
// A source partition is idle when the last mark says so in every partition where there is one. One that is idle here
// and active there counts with both its times: it has woken up, and the partition with the idle mark may still hold
// posts of it that were written before the mark that is missing. One without any mark in some partition holds W
// where it is, for the same reason.
//
// A process that dies writes no idle mark. So a source partition also counts as idle where records have been met
// that were stamped a good while (silence) after its last mark: it would have written some.
type Marks struct {
	clock   feed.Time
	known   bool
	newest  []int64          // per partition, the newest stamp met
	sources map[string][]met // by source partition, then partition
}

// met is the last mark of one source partition in one partition.
type met struct {
	kind  metKind
	time  feed.Time
	stamp int64 // of its record
}

type metKind uint8

const (
	metNone metKind = iota
	metActive
	metIdle
)

func newMarks(partitions int) Marks {
	return Marks{newest: make([]int64, partitions), sources: map[string][]met{}}
}

// Clock is W; false while no source partition has been heard of in every partition.
func (m *Marks) Clock() (feed.Time, bool) { return m.clock, m.known }

// meet takes note that the look-ups have passed a record of partition p.
func (m *Marks) meet(p int, stamp int64, marks []topic.Mark) {
	m.newest[p] = max(m.newest[p], stamp)
	for i := range marks {
		mets := m.sources[marks[i].Source]
		if mets == nil {
			mets = make([]met, len(m.newest))
			m.sources[marks[i].Source] = mets
		}
		mets[p] = met{metActive, marks[i].Time, stamp}
		if marks[i].Idle {
			mets[p].kind = metIdle
		}
	}
}

// rise moves W, and reports whether it did.
func (m *Marks) rise(silence time.Duration) bool {
	var least feed.Time
	active, everywhere := false, true
	for name, mets := range m.sources {
		if !m.isActive(mets, silence) {
			delete(m.sources, name)
			continue
		}
		for _, one := range mets {
			everywhere = everywhere && one.kind != metNone
			if !active || one.time < least {
				least, active = one.time, true
			}
		}
	}
	if !active || !everywhere || m.known && least <= m.clock {
		return false
	}
	m.clock, m.known = least, true
	return true
}

func (m *Marks) isActive(mets []met, silence time.Duration) bool {
	for p, one := range mets {
		if one.kind == metActive && m.newest[p]-one.stamp <= silence.Nanoseconds() {
			return true
		}
	}
	return false
}

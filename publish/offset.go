package publish

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"refrain/topic"
)

// offsets is how far a reader of the topic has come: the next position of every partition.
//
// Written down it is the position of the last event read: one number where the partitions share one order,
// otherwise a vector like "12.7.-", where the minus means that nothing of a partition has been read. Behind an @ comes the
// incarnation of the topic, if it has a name: after a power cut other events may have the same positions.
type offsets struct {
	next        []int64
	ordered     bool
	incarnation string
}

// offsetsIn are offsets in a topic as it is now.
func offsetsIn(t topic.Topic, next []int64) offsets {
	return offsets{next: next, ordered: t.Ordered(), incarnation: t.Lineage().Current()}
}

// offsetsAt are the offsets at the ends of the partitions. Where these share one order it is the highest end for all: the
// end of a quiet partition lies far behind, and everything up to there has been read by whoever begins now.
func offsetsAt(t topic.Topic, end []int64) offsets {
	p := offsetsIn(t, slices.Clone(end))
	if p.ordered {
		last := slices.Max(end)
		for i := range p.next {
			p.next[i] = last
		}
	}
	return p
}

// read notes a record.
func (p *offsets) read(partition int, position int64) {
	if !p.ordered {
		p.next[partition] = max(p.next[partition], position+1)
		return
	}
	for i := range p.next { // everything below has been read too
		p.next[i] = max(p.next[i], position+1)
	}
}

// back goes back to a record.
func (p *offsets) back(at offset) {
	if !p.ordered {
		p.next[at.partition] = min(p.next[at.partition], at.position)
		return
	}
	for i := range p.next {
		p.next[i] = min(p.next[i], at.position)
	}
}

// behind is how many positions lie between p and end.
func (p *offsets) behind(end []int64) (n int64) {
	for i := range end {
		behind := max(0, end[i]-p.next[i])
		if p.ordered {
			n = max(n, behind)
		} else {
			n += behind
		}
	}
	return n
}

// skip steps over records that the topic no longer retains.
func (p *offsets) skip(gap *topic.ErrTruncated) {
	p.next[gap.Partition] = max(p.next[gap.Partition], gap.Start)
}

func (p *offsets) String() string {
	if p.incarnation == "" {
		return p.positions()
	}
	return p.positions() + "@" + p.incarnation
}

func (p *offsets) positions() string {
	if p.ordered {
		return strconv.FormatInt(slices.Min(p.next)-1, 10)
	}
	words := make([]string, len(p.next))
	for i, n := range p.next {
		words[i] = "-"
		if n > 0 {
			words[i] = strconv.FormatInt(n-1, 10)
		}
	}
	return strings.Join(words, ".")
}

// errPartitions: the offsets are of a topic with other partitions.
var errPartitions = errors.New("other partitions")

// parseOffsets reads what String writes, for a topic of so many partitions.
func parseOffsets(s string, partitions int, ordered bool) (offsets, error) {
	positions, incarnation, _ := strings.Cut(s, "@")
	p := offsets{next: make([]int64, partitions), ordered: ordered, incarnation: incarnation}
	next, err := parsePositions(positions)
	if err != nil {
		return p, fmt.Errorf("event id %q: %w", s, err)
	}
	want := partitions
	if ordered {
		want = 1
	}
	if len(next) != want {
		return p, fmt.Errorf("event id %q: want %d numbers: %w", s, want, errPartitions)
	}
	for i := range p.next {
		p.next[i] = next[min(i, len(next)-1)]
	}
	return p, nil
}

// parsePositions returns the positions after those in s.
func parsePositions(s string) ([]int64, error) {
	var next []int64
	for word := range strings.SplitSeq(s, ".") {
		if word == "-" {
			next = append(next, 0)
			continue
		}
		n, err := strconv.ParseInt(word, 10, 62)
		if err != nil || n < -1 {
			return nil, fmt.Errorf("%q is no position", word)
		}
		next = append(next, n+1)
	}
	return next, nil
}

// rebase makes p, which was written down some time ago, fit the topic as it is now: what was read of an earlier
// incarnation counts as far as that is still there. False: p is of another topic: its incarnation is not known, or
// it lies beyond the end of the present one.
func (p *offsets) rebase(t topic.Topic, end []int64) bool {
	current := t.Lineage().Current()
	validEnds, known := topic.ValidEnds(t, p.incarnation, end)
	if !known || p.incarnation == current && p.beyond(validEnds) {
		return false
	}
	for i := range p.next {
		p.next[i] = min(p.next[i], validEnds[i])
	}
	p.incarnation = current
	return true
}

func (p *offsets) beyond(end []int64) bool {
	for i, n := range p.next {
		if n > end[i] {
			return true
		}
	}
	return false
}

// reached reports whether everything below target has been read. A partition without a target, -1, always has.
func (p *offsets) reached(target []int64) bool {
	for i, n := range p.next {
		if n < target[i] {
			return false
		}
	}
	return true
}

// targets returns the ends to read to, -1 for a partition that holds nothing.
func targets(start, end []int64) []int64 {
	t := slices.Clone(end)
	for i := range t {
		if start[i] >= end[i] {
			t[i] = -1
		}
	}
	return t
}

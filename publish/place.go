package publish

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"refrain/topic"
)

// place is how far a reader of the topic has come: the next position of every partition.
//
// Written down it is the position of the last event read: one number where the partitions share one order,
// otherwise a vector like "12.7.-", where the minus says that nothing of a partition has been read.
type place struct {
	next    []int64
	ordered bool
}

// read takes note of a record.
func (p *place) read(partition int, position int64) {
	if !p.ordered {
		p.next[partition] = max(p.next[partition], position+1)
		return
	}
	for i := range p.next { // everything below has been read too
		p.next[i] = max(p.next[i], position+1)
	}
}

// back goes back to a record.
func (p *place) back(at spot) {
	if !p.ordered {
		p.next[at.partition] = min(p.next[at.partition], at.position)
		return
	}
	for i := range p.next {
		p.next[i] = min(p.next[i], at.position)
	}
}

// behind is how many positions lie between p and end.
func (p *place) behind(end []int64) (n int64) {
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

// skip steps over records that the topic no longer keeps.
func (p *place) skip(gap *topic.ErrTruncated) {
	p.next[gap.Partition] = max(p.next[gap.Partition], gap.Start)
}

func (p *place) String() string {
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

// parsePlace reads what String writes, for a topic of so many partitions.
func parsePlace(s string, partitions int, ordered bool) (place, error) {
	p := place{next: make([]int64, partitions), ordered: ordered}
	words := strings.Split(s, ".")
	want := partitions
	if ordered {
		want = 1
	}
	if len(words) != want {
		return p, fmt.Errorf("event id %q: want %d numbers", s, want)
	}
	for i := range p.next {
		word := words[min(i, len(words)-1)]
		if word == "-" {
			continue
		}
		n, err := strconv.ParseInt(word, 10, 62)
		if err != nil || n < -1 {
			return p, fmt.Errorf("event id %q: %q is no position", s, word)
		}
		p.next[i] = n + 1
	}
	return p, nil
}

// beyond reports whether p names positions that the topic has not reached: it was made for another topic.
func (p *place) beyond(end []int64) bool {
	last := slices.Max(end)
	for i, n := range p.next {
		if p.ordered && n > last || !p.ordered && n > end[i] {
			return true
		}
	}
	return false
}

// reached reports whether everything below target has been read. A partition without a target, -1, always has.
func (p *place) reached(target []int64) bool {
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

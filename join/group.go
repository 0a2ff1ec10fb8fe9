package join

import (
	"math/bits"
	"slices"
)

// group makes one row of all equal sets: what they have in common with others is the same. Real collections have many.
func (s *sets) group() {
	g := grouping{sets: s, slots: make([]uint32, 1<<bits.Len(uint(2*len(s.ends)))), rows: make([]uint32, len(s.ends))}
	kept := g.find()
	if kept == s.len() {
		return
	}
	s.last = make([]uint32, kept)
	for _, row := range g.rows {
		s.last[row]++
	}
	total := uint32(0)
	for row, n := range s.last {
		s.last[row], total = total, total+n
	}
	members := make([]uint32, total)
	for old, row := range g.rows {
		members[s.last[row]] = s.members[old]
		s.last[row]++
	}
	s.members, s.ends = members, s.ends[:kept]
	s.tokens = s.tokens[:s.ends[kept-1]]
	s.measureSizes()
}

// measureSizes counts the rows of each size anew.
func (s *sets) measureSizes() {
	clear(s.first)
	for r := range s.len() {
		s.first[len(s.row(r))+1]++
	}
	for n := 1; n < len(s.first); n++ {
		s.first[n] += s.first[n-1]
	}
}

// grouping finds equal rows by a hash table with linear probing, at most half full, and moves the others to the front.
type grouping struct {
	*sets
	slots []uint32 // 1 + a row
	rows  []uint32 // old row -> new one
}

func (g *grouping) find() (kept uint32) {
	for old := range g.len() {
		tokens := g.row(old)
		slot := g.slot(tokens, kept)
		if *slot == 0 {
			g.store(kept, tokens)
			kept++
			*slot = kept
		}
		g.rows[old] = *slot - 1
	}
	return kept
}

// store makes tokens those of a row, which stands where they stand or before.
func (g *grouping) store(row uint32, tokens []uint32) {
	from := 0
	if row > 0 {
		from = g.ends[row-1]
	}
	copy(g.tokens[from:], tokens)
	g.ends[row] = from + len(tokens)
}

// slot is the place of a set among the rows that are kept.
func (g *grouping) slot(tokens []uint32, kept uint32) *uint32 {
	mask := uint64(len(g.slots) - 1)
	for i := hashOf(tokens) & mask; ; i = (i + 1) & mask {
		if r := g.slots[i]; r == 0 || slices.Equal(g.row(r-1), tokens) {
			return &g.slots[i]
		}
	}
}

// hashOf is a sum, so that no token waits for the one before it.
func hashOf(tokens []uint32) uint64 {
	const factor = 0x9E3779B97F4A7C15
	h := uint64(len(tokens))
	for _, token := range tokens {
		x := (uint64(token) + factor) * factor
		h += x ^ x>>32
	}
	return h * factor >> 20
}

package join

import (
	"math/bits"
	"slices"
)

// grouping finds equal sets by a hash table with linear probing, at most half full. Tokens are compared only where hashes are
// equal.
type grouping struct {
	*pace
	collections []*Collection
	ofB         []uint32 // numbers of the second collection -> of the first
	slots       []uint32 // 1 + a group
	hashes      []uint64 // of groups
	kept        []uint32 // group -> its first set, as a member
	found       int      // groups
	groups      []uint32 // of all sets that are not empty, as they come
	equal       bool     // whether some groups have several sets
}

// find makes the groups: a set is in that of the first one that is equal to it.
func (g *grouping) find() {
	total := 0
	for _, c := range g.collections {
		total += c.Len()
	}
	g.slots, g.groups = make([]uint32, 1<<bits.Len(uint(2*total))), make([]uint32, total)
	g.hashes, g.kept = make([]uint64, total), make([]uint32, total)
	n := 0
	g.eachSet(func(member uint32, set []uint32) {
		g.groups[n] = g.groupOf(member, set)
		n++
	})
	g.groups, g.kept, g.equal = g.groups[:n], g.kept[:g.found], g.found < n
}

// eachSet visits the sets that are not empty.
func (g *grouping) eachSet(visit func(member uint32, set []uint32)) {
	for side, c := range g.collections {
		for i := range c.Len() {
			set := c.set(i)
			if g.ended(1 + len(set)) {
				return
			}
			if len(set) > 0 {
				visit(uint32(i)|uint32(side)*fromB, set)
			}
		}
	}
}

func (g *grouping) groupOf(member uint32, set []uint32) uint32 {
	h := g.hash(member, set)
	mask := uint64(len(g.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		k := g.slots[i]
		if k == 0 {
			group := g.found
			g.kept[group], g.hashes[group] = member, h
			g.found++
			g.slots[i] = uint32(g.found)
			return uint32(group)
		}
		if g.hashes[k-1] == h && g.same(member, g.kept[k-1]) {
			return k - 1
		}
	}
}

func (g *grouping) set(member uint32) []uint32 {
	return g.collections[member/fromB].set(int(member &^ fromB))
}

// hash is that of a set's tokens in any order.
func (g *grouping) hash(member uint32, set []uint32) uint64 {
	factor := g.collections[0].vocabulary.factor
	if member&fromB == 0 {
		return hashOf(set, factor)
	}
	return hashOf(g.numbered(member), factor)
}

// numbered is a set with the numbers of the first collection.
func (g *grouping) numbered(member uint32) []uint32 {
	set := slices.Clone(g.set(member))
	if member&fromB != 0 {
		for i, n := range set {
			set[i] = g.ofB[n]
		}
	}
	return set
}

// same compares two sets. Equal ones mostly have their tokens in the same order.
func (g *grouping) same(a, b uint32) bool {
	if (a^b)&fromB == 0 && slices.Equal(g.set(a), g.set(b)) {
		return true
	}
	x, y := g.numbered(a), g.numbered(b)
	if len(x) != len(y) {
		return false
	}
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// hashOf is a sum, so that no token waits for the one before it. The factor is random: nobody can choose sets that all fall
// together.
func hashOf(tokens []uint32, factor uint64) uint64 {
	h := uint64(len(tokens))
	for _, token := range tokens {
		x := (uint64(token) + factor) * factor
		h += x ^ x>>32
	}
	return h * factor >> 20
}

// sortGroups makes a row of each group, and returns which.
func (s *sets) sortGroups(g *grouping) (rows []uint32) {
	largest := 0
	for _, c := range g.collections {
		largest = max(largest, c.largest)
	}
	s.first = make([]uint32, largest+2)
	for _, member := range g.kept {
		s.first[len(g.set(member))+1]++
	}
	for n := 1; n < len(s.first); n++ {
		s.first[n] += s.first[n-1]
	}
	s.ends, s.tokens = s.endRows(len(g.kept))
	next := slices.Clone(s.first)
	rows = make([]uint32, len(g.kept))
	for i, member := range g.kept {
		n := len(g.set(member))
		rows[i] = next[n]
		next[n]++
	}
	s.gather(g, rows)
	return rows
}

// endRows is where the tokens of each row end, and room for all.
func (s *sets) endRows(rows int) (ends []int, tokens []uint32) {
	ends = make([]int, 0, rows)
	end := 0
	for n := 1; n < len(s.first)-1; n++ {
		for range s.first[n+1] - s.first[n] {
			end += n
			ends = append(ends, end)
		}
	}
	return ends, make([]uint32, end)
}

// gather lists the members of rows.
func (s *sets) gather(g *grouping, rows []uint32) {
	s.members = make([]uint32, len(g.groups))
	if !g.equal {
		for i, member := range g.kept {
			s.members[rows[i]] = member
		}
		return
	}
	s.last = make([]uint32, len(rows))
	for _, group := range g.groups {
		s.last[rows[group]]++
	}
	total := uint32(0)
	for row, n := range s.last {
		s.last[row], total = total, total+n
	}
	i := 0
	g.eachSet(func(member uint32, _ []uint32) {
		row := rows[g.groups[i]]
		s.members[s.last[row]] = member
		s.last[row]++
		i++
	})
}

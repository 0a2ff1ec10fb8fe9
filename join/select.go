package join

import (
	"context"
	"math"
	"slices"
)

// newPrefixes is newSets for Ours. Equal sets are one row: what they have in common with others is the same, and real
// collections have many. Of a row only the rarest tokens are put in order, as many as its prefix has at least. Nothing else is
// looked up, and what stands behind can be compared as it stands.
func newPrefixes(ctx context.Context, collections []*Collection, prefix func(n int) int) (*sets, error) {
	s := &sets{sides: len(collections)}
	all, ofB := vocabularyOf(collections)
	s.rank(all)
	p := &pace{ctx: ctx}
	g := &grouping{collections: collections, ofB: ofB, pace: p}
	if g.find(); p.err != nil {
		return nil, p.err
	}
	rows := s.sortGroups(g)
	f := &front{sets: s, pace: p, collections: collections, prefixes: prefixesOf(s, prefix)}
	f.ranks, f.quantiles = s.ranks(ofB), s.quantiles(all.frequency)
	f.fill(g.kept, rows)
	return s, p.err
}

// ranks are those of the tokens by their numbers, for each collection.
func (s *sets) ranks(ofB []uint32) (of [2][]uint32) {
	of[0] = make([]uint32, len(s.numbers))
	for rank, n := range s.numbers {
		of[0][n] = uint32(rank)
	}
	of[1] = make([]uint32, len(ofB))
	for i, n := range ofB {
		of[1][i] = of[0][n]
	}
	return of
}

// shares is in how many parts quantiles divide the tokens of all sets.
const shares = 256

// quantiles are ranks: of all tokens of all sets k of shares rank below quantiles[k], and all below the last.
func (s *sets) quantiles(frequency []uint32) (ranks [shares + 1]uint32) {
	total := 0
	for _, n := range frequency {
		total += int(n)
	}
	sum, k := 0, 0
	for rank, n := range s.numbers {
		for ; k < shares && sum*shares >= k*total; k++ {
			ranks[k] = uint32(rank)
		}
		sum += int(frequency[n])
	}
	for ; k <= shares; k++ {
		ranks[k] = uint32(len(s.numbers))
	}
	return ranks
}

// front writes the tokens of rows, the rarest ones in front.
type front struct {
	*sets
	*pace
	collections []*Collection
	prefixes    []uint32    // [n]: how many of a row's tokens are in order, at least
	ranks       [2][]uint32 // number -> rank
	quantiles   [shares + 1]uint32
}

// fill writes the rows of sets.
func (f *front) fill(members, rows []uint32) {
	for i, member := range members {
		side := member / fromB
		set, row := f.collections[side].set(int(member&^fromB)), f.row(rows[i])
		if f.ended(len(set)) {
			return
		}
		f.order(row, set, f.ranks[side])
	}
}

// order writes a row so that its rarest tokens stand in front, in order. It is a quicksort that goes no further than it has to,
// and what rows are divided by are ranks that so many of all tokens do not exceed.
func (f *front) order(row, set, ranks []uint32) {
	wanted := int(f.prefixes[len(row)])
	share := min(shares, 1+5*wanted*shares/(4*len(row)))
	below := divide(row, set, ranks, f.quantiles[share])
	f.sort(row[:below], wanted, 0, share)
	f.sort(row[below:], wanted-below, share, shares)
}

// sort makes the first tokens of a row those wanted, in order. They are between two quantiles.
func (f *front) sort(row []uint32, wanted, low, high int) {
	for wanted > 0 && len(row) > fewRanks {
		if high-low < 2 {
			slices.Sort(row)
			return
		}
		middle := (low + high) / 2
		below := divideAgain(row, f.quantiles[middle])
		if below < wanted {
			f.sort(row[:below], below, low, middle)
			row, wanted, low = row[below:], wanted-below, middle
		} else {
			row, high = row[:below], middle
		}
	}
	if wanted > 0 {
		sortFew(row)
	}
}

// divide writes the ranks of a set's tokens to row, those below limit in front, and counts these.
func divide(row, set, ranks []uint32, limit uint32) (below int) {
	above := len(row) - 1
	for _, n := range set {
		rank := ranks[n]
		row[above], row[below] = rank, rank
		less := oneIf(rank < limit)
		below += less
		above -= 1 - less
	}
	return below
}

// divideAgain moves what is below limit to the front, and counts it.
func divideAgain(row []uint32, limit uint32) (below int) {
	for i, rank := range row {
		row[i], row[below] = row[below], rank
		below += oneIf(rank < limit)
	}
	return below
}

// fewRanks are so few that they are sorted without branches that depend on them.
const fewRanks = 8

// sortFew sorts eight ranks at most by a network of 19 comparators (Knuth, The Art of Computer Programming 3, 5.3.4).
func sortFew(ranks []uint32) {
	const none = math.MaxUint32
	v := [fewRanks]uint32{none, none, none, none, none, none, none, none}
	for i, rank := range ranks {
		v[i%fewRanks] = rank
	}
	a, b, c, d, e, f, g, h := v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]
	a, c, b, d = min(a, c), max(a, c), min(b, d), max(b, d)
	e, g, f, h = min(e, g), max(e, g), min(f, h), max(f, h)
	a, e, b, f = min(a, e), max(a, e), min(b, f), max(b, f)
	c, g, d, h = min(c, g), max(c, g), min(d, h), max(d, h)
	a, b, c, d = min(a, b), max(a, b), min(c, d), max(c, d)
	e, f, g, h = min(e, f), max(e, f), min(g, h), max(g, h)
	c, e, d, f = min(c, e), max(c, e), min(d, f), max(d, f)
	b, e, d, g = min(b, e), max(b, e), min(d, g), max(d, g)
	b, c, d, e, f, g = min(b, c), max(b, c), min(d, e), max(d, e), min(f, g), max(f, g)
	v = [fewRanks]uint32{a, b, c, d, e, f, g, h}
	for i := range ranks {
		ranks[i] = v[i%fewRanks]
	}
}

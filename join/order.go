package join

import (
	"context"
	"slices"
)

// sets are those of all collections that are joined, as rows: from small to large, those of one size as they came. The tokens
// of a row are ranks, ascending: rare tokens first, so that prefixes are of the rarest. Where newPrefixes has made them the
// prefix is in order, and what stands behind it is not.
type sets struct {
	sides   int // 1, or 2 collections
	tokens  []uint32
	ends    []int    // row -> where its tokens end
	first   []uint32 // [n]: the first row of n tokens or more; one more than there are sizes
	members []uint32 // of all rows: their sets, as numbers in their collections, those of the second with fromB
	last    []uint32 // row -> where its members end; nil: each has one
	ids     []uint64 // of the tokens, as they are numbered
	numbers []uint32 // rank -> number
	single  uint32   // so many ranks, the first, are of tokens that one set has: nothing is found by them
}

// fromB marks the rows of the second collection.
const fromB = 1 << 31

// newSets puts sets and tokens in order. The end of ctx ends it.
func newSets(ctx context.Context, collections []*Collection) (*sets, error) {
	s := &sets{sides: len(collections)}
	all, ofB := vocabularyOf(collections)
	s.rank(all)
	s.sortBySize(collections)
	p := &pace{ctx: ctx}
	rows, ends := s.listRows(p, collections, all.frequency, ofB)
	if p.err == nil {
		s.fill(p, rows, ends)
	}
	return s, p.err
}

// vocabularyOf is that of all collections, and the numbers in it of the second one's tokens.
func vocabularyOf(collections []*Collection) (all *vocabulary, ofB []uint32) {
	if len(collections) == 1 {
		return &collections[0].vocabulary, nil
	}
	return merge(&collections[0].vocabulary, &collections[1].vocabulary)
}

// pace looks from time to time whether a context is done, in loops whose steps are too short for that.
type pace struct {
	ctx  context.Context
	left int
	err  error
}

// ended counts steps, and reports whether to go no further.
func (p *pace) ended(steps int) bool {
	if p.left -= steps; p.left > 0 {
		return false
	}
	return p.look()
}

func (p *pace) look() bool {
	const steps = 1 << 18
	p.left = steps
	if p.err = context.Cause(p.ctx); p.err != nil {
		p.left = 0
	}
	return p.err != nil
}

// rank puts the tokens in order, the rarest first. Those of one frequency stay as they came, so that the order is the same
// each time.
func (s *sets) rank(all *vocabulary) {
	s.ids, s.numbers = all.ids, ascending(all.frequency)
	for int(s.single) < len(s.numbers) && all.frequency[s.numbers[s.single]] < 2 {
		s.single++
	}
}

// merge is the vocabulary of two, that of a and what b has more, and the numbers in it of b's.
func merge(a, b *vocabulary) (all *vocabulary, ofB []uint32) {
	all = &vocabulary{
		slots: slices.Clone(a.slots), shift: a.shift, factor: a.factor,
		ids: slices.Clone(a.ids), frequency: slices.Clone(a.frequency), last: make([]uint32, len(a.ids)),
	}
	ofB = make([]uint32, len(b.ids))
	for i, id := range b.ids {
		n := all.number(id)
		all.frequency[n] += b.frequency[i]
		ofB[i] = n
	}
	return all, ofB
}

// ascending is the order of values, equal ones as they stand. They are at most as many as there are sets: they are counted,
// not compared.
func ascending(values []uint32) (order []uint32) {
	starts := make([]uint32, int(slices.Max(append([]uint32{0}, values...)))+2)
	for _, v := range values {
		starts[v+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	order = make([]uint32, len(values))
	for i, v := range values {
		order[starts[v]] = uint32(i)
		starts[v]++
	}
	return order
}

// sortBySize finds the row of each set. Empty sets are none: nothing is similar to them.
func (s *sets) sortBySize(collections []*Collection) {
	largest, total := 0, 0
	for _, c := range collections {
		largest, total = max(largest, c.largest), total+c.Len()
	}
	s.first = make([]uint32, largest+2)
	for _, c := range collections {
		for i := range c.Len() {
			if n := c.Size(i); n > 0 {
				s.first[n+1]++
			}
		}
	}
	for n := 1; n < len(s.first); n++ {
		s.first[n] += s.first[n-1]
	}
	next := slices.Clone(s.first)
	s.members = make([]uint32, next[len(next)-1])
	for side, c := range collections {
		for i := range c.Len() {
			if n := c.Size(i); n > 0 {
				s.members[next[n]] = uint32(i) | uint32(side)*fromB
				next[n]++
			}
		}
	}
}

// listRows lists the rows of each token, one list behind the other by rank. It returns where the list of each number ends.
func (s *sets) listRows(p *pace, collections []*Collection, frequency, ofB []uint32) (rows []uint32, ends []int) {
	total := 0
	ends = make([]int, len(s.numbers))
	for _, n := range s.numbers {
		ends[n] = total
		total += int(frequency[n])
	}
	rows = make([]uint32, total)
	for row, member := range s.members {
		isB, set := member&fromB != 0, collections[member/fromB].set(int(member&^fromB))
		if p.ended(len(set)) {
			break
		}
		for _, n := range set {
			if isB {
				n = ofB[n]
			}
			rows[ends[n]] = uint32(row)
			ends[n]++
		}
	}
	return rows, ends
}

// fill writes the tokens of all rows: rank by rank, each to the rows of its list. So they are in order, and none was compared.
func (s *sets) fill(p *pace, rows []uint32, ends []int) {
	s.tokens, s.ends = make([]uint32, len(rows)), s.startRows()
	from := 0
	for rank, n := range s.numbers {
		if p.ended(ends[n] - from) {
			break
		}
		for _, row := range rows[from:ends[n]] {
			s.tokens[s.ends[row]] = uint32(rank)
			s.ends[row]++
		}
		from = ends[n]
	}
}

// startRows is where the tokens of each row begin.
func (s *sets) startRows() []int {
	starts, total := make([]int, len(s.members)), 0
	for n := 1; n < len(s.first)-1; n++ {
		for row := s.first[n]; row < s.first[n+1]; row++ {
			starts[row] = total
			total += n
		}
	}
	return starts
}

// row is the tokens of a row.
func (s *sets) row(r uint32) []uint32 {
	if r == 0 {
		return s.tokens[:s.ends[0]]
	}
	return s.tokens[s.ends[r-1]:s.ends[r]]
}

func (s *sets) len() uint32 { return uint32(len(s.ends)) }

// of is the sets of a row that one collection has, of two the second one's behind the first one's.
func (s *sets) of(r uint32, side int) []uint32 {
	all := s.all(r)
	if s.sides == 1 {
		return all
	}
	b := len(all)
	for b > 0 && all[b-1]&fromB != 0 {
		b--
	}
	if side == 0 {
		return all[:b]
	}
	return all[b:]
}

func (s *sets) all(r uint32) []uint32 {
	if s.last == nil {
		return s.members[r : r+1]
	}
	from := uint32(0)
	if r > 0 {
		from = s.last[r-1]
	}
	return s.members[from:s.last[r]]
}

// other is the collection that partners are of.
func (s *sets) other(side int) int { return (side + 1) % s.sides }

// pair is two members as the collections' numbers.
func pairOf(x, y uint32) (a, b int) {
	return int(min(x, y) &^ fromB), int(max(x, y) &^ fromB) // of two collections, the second's is the greater
}

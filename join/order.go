package join

import "slices"

// sets are those of all collections that are joined, as rows: from small to large, those of one size as they came. The tokens
// of a row are ranks, ascending: rare tokens first, so that prefixes are of the rarest.
type sets struct {
	sides   int // 1, or 2 collections
	tokens  []uint32
	ends    []int    // row -> where its tokens end
	first   []uint32 // [n]: the first row of n tokens or more; one more than there are sizes
	members []uint32 // of all rows: their sets, as numbers in their collections, those of the second with fromB
	last    []uint32 // row -> where its members end; nil: each has one
	ids     []uint64 // rank -> token
	counts  []uint32 // rank -> sets that have it
}

// fromB marks the rows of the second collection.
const fromB = 1 << 31

func newSets(collections []*Collection) *sets {
	s := &sets{sides: len(collections)}
	ranks := s.rank(collections)
	s.sortBySize(collections)
	s.fill(collections, ranks)
	return s
}

// rank puts the tokens in order, the rarest first, and returns for each collection the rank of its numbers. Tokens of one
// frequency stay as they came, so that the order is the same each time.
func (s *sets) rank(collections []*Collection) (ranks [][]uint32) {
	all := &vocabulary{ids: collections[0].vocabulary.ids, frequency: collections[0].vocabulary.frequency}
	numbers := [][]uint32{nil}
	if len(collections) == 2 {
		all, numbers = merge(&collections[0].vocabulary, &collections[1].vocabulary)
	}
	rank := ascending(all.frequency)
	s.ids, s.counts = make([]uint64, len(rank)), make([]uint32, len(rank))
	for n, r := range rank {
		s.ids[r], s.counts[r] = all.ids[n], all.frequency[n]
	}
	for _, of := range numbers {
		ranks = append(ranks, through(of, rank))
	}
	return ranks
}

// merge is the vocabulary of two, and the number in it of each number of either; nil: its own.
func merge(a, b *vocabulary) (all *vocabulary, numbers [][]uint32) {
	all = &vocabulary{
		slots: slices.Clone(a.slots), shift: a.shift, factor: a.factor,
		ids: slices.Clone(a.ids), frequency: slices.Clone(a.frequency), last: make([]uint32, len(a.ids)),
	}
	ofB := make([]uint32, len(b.ids))
	for i, id := range b.ids {
		n := all.number(id)
		all.frequency[n] += b.frequency[i]
		ofB[i] = n
	}
	return all, [][]uint32{nil, ofB}
}

func through(numbers, rank []uint32) []uint32 {
	if numbers == nil {
		return rank
	}
	for i, n := range numbers {
		numbers[i] = rank[n]
	}
	return numbers
}

// ascending is the place of each value in ascending order, equal ones as they stand. The values are at most as many as there
// are sets: they are counted, not compared.
func ascending(values []uint32) (places []uint32) {
	starts := make([]uint32, int(slices.Max(append([]uint32{0}, values...)))+2)
	for _, v := range values {
		starts[v+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	places = make([]uint32, len(values))
	for i, v := range values {
		places[i] = starts[v]
		starts[v]++
	}
	return places
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

// fill writes the tokens of all rows.
func (s *sets) fill(collections []*Collection, ranks [][]uint32) {
	total := 0
	for _, c := range collections {
		total += c.Tokens()
	}
	s.tokens, s.ends = make([]uint32, 0, total), make([]int, len(s.members))
	for row, o := range s.members {
		side := o / fromB
		from := len(s.tokens)
		for _, n := range collections[side].set(int(o &^ fromB)) {
			s.tokens = append(s.tokens, ranks[side][n])
		}
		sortRanks(s.tokens[from:])
		s.ends[row] = len(s.tokens)
	}
}

// maxInsertionSort is the length up to which sortRanks does better than the library.
const maxInsertionSort = 24

// sortRanks sorts small sets without branches, which no predictor could guess.
func sortRanks(list []uint32) {
	if len(list) > maxInsertionSort {
		slices.Sort(list)
		return
	}
	for i, v := range list {
		for j, w := range list[:i] {
			list[j], v = min(v, w), max(v, w)
		}
		list[i] = v
	}
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

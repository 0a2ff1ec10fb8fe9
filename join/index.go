package join

// index has, for each token, the rows that have it in their index prefix.
type index struct {
	starts  []uint32 // rank -> where its entries begin; one more than there are ranks
	entries []entry
}

// entry says that a row has a token at a position. Those of a token ascend by row, and so by size.
type entry struct{ row, position uint32 }

// newIndex posts rows from to to of one side under their index prefixes. That is enough, since whoever looks a row up is no
// smaller than it ([PPJ] lemma 3). A token that only one row has is left out: nobody asks for it.
func newIndex(s *sets, prefixes []uint32, side int, from, to uint32) *index {
	x := &index{starts: make([]uint32, len(s.numbers)+1)}
	eachPosted(s, prefixes, side, from, to, func(token uint32, _ entry) { x.starts[token]++ })
	total := uint32(0)
	for token, n := range x.starts {
		x.starts[token], total = total, total+n
	}
	x.entries = make([]entry, total)
	eachPosted(s, prefixes, side, from, to, func(token uint32, e entry) {
		x.entries[x.starts[token]] = e
		x.starts[token]++
	})
	copy(x.starts[1:], x.starts) // each start has moved to the next one's place
	x.starts[0] = 0
	return x
}

func eachPosted(s *sets, prefixes []uint32, side int, from, to uint32, visit func(token uint32, e entry)) {
	for row := from; row < to; row++ {
		if len(s.of(row, side)) == 0 {
			continue
		}
		tokens := s.row(row)
		for i, token := range tokens[:prefixes[len(tokens)]] {
			if token >= s.single {
				visit(token, entry{row, uint32(i)})
			}
		}
	}
}

// newIndexes are those of each collection.
func newIndexes(s *sets, prefixes []uint32, from, to uint32) (all []*index) {
	for side := range s.sides {
		all = append(all, newIndex(s, prefixes, side, from, to))
	}
	return all
}

func entriesOf(indexes []*index) (n int64) {
	for _, x := range indexes {
		n += int64(len(x.entries))
	}
	return n
}

// between is where the entries of a token with rows from to to begin and end.
func (x *index) between(token, from, to uint32) (begin, end uint32) {
	if begin, end = x.starts[token], x.starts[token+1]; begin == end {
		return begin, end
	}
	begin += place(x.entries[begin:end], from)
	return begin, begin + place(x.entries[begin:end], to)
}

// place is the first entry of a row or a later one: a search without branches, which no predictor could guess.
func place(list []entry, row uint32) (at uint32) {
	for n := uint32(len(list)); n > 0; {
		half := (n + 1) / 2
		next := at + half
		if list[next-1].row < row {
			at = next
		}
		n -= half
	}
	return at
}

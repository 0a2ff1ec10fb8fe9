package join

import "sort"

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
	x := &index{starts: make([]uint32, len(s.counts)+1)}
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
			if s.counts[token] > 1 {
				visit(token, entry{row, uint32(i)})
			}
		}
	}
}

// between are the entries of a token with rows from to to.
func (x *index) between(token, from, to uint32) []entry {
	list := x.entries[x.starts[token]:x.starts[token+1]]
	return list[place(list, from):place(list, to)]
}

// place is the first entry of a row or a later one.
func place(list []entry, row uint32) int {
	const short = 8
	if len(list) > short {
		return sort.Search(len(list), func(i int) bool { return list[i].row >= row })
	}
	i := 0
	for i < len(list) && list[i].row < row {
		i++
	}
	return i
}

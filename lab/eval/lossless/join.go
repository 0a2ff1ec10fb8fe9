package lossless

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"refrain/hashcodes"
	"refrain/text"
)

// index finds the sets that are similar enough to another, exactly and without signatures: it is what the candidates of
// signatures are checked against. It is a PPJoin (Xiao et al., WWW 2008) over sets that are all known: tokens numbered
// by rising frequency, lists of the rarest tokens of each set, the length filter and the positional filter, and then
// the whole intersection.
type index struct {
	measure text.Measure
	bounds  *bounds
	band    [hashcodes.MaxSize + 2]int // first row of each size
	tokens  []uint32                   // of all rows, rarest first
	ends    []int
	lists   [][]posting
	number  map[uint64]uint32
}

// posting says that a row has a token at a position.
type posting struct {
	row            uint32
	size, position uint16
}

// newIndex indexes sets that come by rising size.
func newIndex(m text.Measure, sets [][]uint64) *index { return indexOf(m, sets, m.Prefix) }

// newJoinIndex is newIndex where only partners of no greater size will be asked for, as in a join of the sets with
// themselves: fewer of their tokens need lists (Lemma 3 of the paper).
func newJoinIndex(m text.Measure, sets [][]uint64) *index { return indexOf(m, sets, m.IndexPrefix) }

func indexOf(m text.Measure, sets [][]uint64, prefix func(n int) int) *index {
	x := &index{measure: m, bounds: boundsOf(m), ends: make([]int, 0, len(sets))}
	x.number = rarestFirst(sets)
	x.lists = make([][]posting, len(x.number))
	for row, set := range sets {
		begin := len(x.tokens)
		x.tokens = x.rank(x.tokens, set)
		x.ends = append(x.ends, len(x.tokens))
		x.band[len(set)+1]++
		for i, token := range x.tokens[begin:][:prefix(len(set))] {
			x.lists[token] = append(x.lists[token], posting{uint32(row), uint16(len(set)), uint16(i)})
		}
	}
	for size := 1; size < len(x.band); size++ {
		x.band[size] += x.band[size-1]
	}
	return x
}

// rarestFirst numbers the tokens of all sets by how many hold them.
func rarestFirst(sets [][]uint64) map[uint64]uint32 {
	frequency := map[uint64]uint32{}
	for _, set := range sets {
		for _, token := range set {
			frequency[token]++
		}
	}
	order := make([]uint64, 0, len(frequency))
	for token := range frequency {
		order = append(order, token)
	}
	slices.SortFunc(order, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(frequency[a], frequency[b]), cmp.Compare(a, b))
	})
	for i, token := range order {
		frequency[token] = uint32(i)
	}
	return frequency
}

// unknown is the number of tokens that no set holds.
const unknown = math.MaxUint32

// rank appends the numbers of a set's tokens, rarest first. What no set holds comes last, where it has no list.
func (x *index) rank(dst []uint32, set []uint64) []uint32 {
	begin := len(dst)
	for _, token := range set {
		number, ok := x.number[token]
		if !ok {
			number = unknown
		}
		dst = append(dst, number)
	}
	slices.Sort(dst[begin:])
	return dst
}

func (x *index) row(i uint32) []uint32 {
	begin := 0
	if i > 0 {
		begin = x.ends[i-1]
	}
	return x.tokens[begin:x.ends[i]]
}

// searcher is the memory of one goroutine's searches.
type searcher struct {
	*index
	lastSearch []uint32 // by row: the search that saw it last
	now        uint32
	rows       []candidate
}

type candidate struct {
	row  uint32
	need int
}

func (x *index) searcher() *searcher {
	return &searcher{index: x, lastSearch: make([]uint32, len(x.ends))}
}

// search visits the rows before limit that are similar enough to a set of ranked tokens, with the size of the
// intersection.
func (s *searcher) search(set []uint32, limit uint32, visit func(row uint32, common int)) {
	if len(set) == 0 {
		return
	}
	s.now++
	s.rows = s.rows[:0]
	b := &s.bounds[len(set)]
	minRow := uint32(s.band[b.min])
	for i, token := range set[:s.measure.Prefix(len(set))] {
		if token == unknown {
			break
		}
		list := s.lists[token]
		from, _ := slices.BinarySearchFunc(list, minRow, func(p posting, row uint32) int { return cmp.Compare(p.row, row) })
		for _, p := range list[from:] {
			if p.row >= limit || int(p.size) > b.max {
				break
			}
			if s.lastSearch[p.row] == s.now {
				continue
			}
			// What is common before the first token in common is nothing; a row that fails here fails at every later token.
			need := b.at(int(p.size))
			if 1+min(len(set)-i-1, int(p.size-p.position)-1) >= need {
				s.lastSearch[p.row] = s.now
				s.rows = append(s.rows, candidate{p.row, need})
			}
		}
	}
	for _, c := range s.rows {
		if common := intersection(set, s.row(c.row), c.need); common >= c.need {
			visit(c.row, common)
		}
	}
}

// intersection is that of two ranked sets, or less than need when it does not reach that. A token that no row holds is in
// none of them.
func intersection(a, b []uint32, need int) int {
	n, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		x, y := a[i], b[j]
		if x == y {
			n++
		}
		if x <= y {
			i++
		}
		if y <= x {
			j++
		}
		if n+min(len(a)-i, len(b)-j) < need {
			return -1
		}
	}
	return n
}

// joinPairs visits every pair of sets that are similar enough, by their places, the smaller or earlier one second. The
// sets come by rising size. Visits are made by so many goroutines at once, each told which it is.
func joinPairs(ctx context.Context, m text.Measure, sets [][]uint64, workers int, done func(rows int),
	visit func(worker int, a, b uint32, common int)) error {
	x := newJoinIndex(m, sets)
	const chunk = 256
	var next, finished atomic.Int64
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			s := x.searcher()
			for ctx.Err() == nil {
				// Large sets first: they take longest, and the lists are read from the same end.
				to := len(sets) - int(next.Add(1)-1)*chunk
				if to <= 0 {
					return
				}
				for row := max(0, to-chunk); row < to; row++ {
					s.search(x.row(uint32(row)), uint32(row), func(other uint32, common int) { visit(w, uint32(row), other, common) })
				}
				if n := int(finished.Add(min(chunk, int64(to)))); done != nil {
					done(n)
				}
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}

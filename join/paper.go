package join

import (
	"cmp"
	"iter"
	"slices"

	"refrain/text"
)

// paper is AllPairs, PPJoin or PPJoinPlus: [PPJ] algorithm 1, with lemma 3 and, in PPJoinPlus, the suffix filter. It looks up
// row after row in the index of the rows of a part.
type paper struct {
	*sets
	measure   text.Measure
	algorithm Algorithm
	maxDepth  int
	prefixes  []uint32 // [n]: how many tokens of a row of n are posted
	from, to  uint32   // the rows of the part
	indexes   []*index // of each collection
}

// papers are the parts of a join: rows as far as memory goes.
func papers(s *sets, cfg Config, e *estimate) iter.Seq[part] {
	return func(yield func(part) bool) {
		prefixes := prefixesOf(s, cfg.Measure.IndexPrefix)
		for from := uint32(0); from < s.len(); {
			to := e.rowsFrom(s, prefixes, from, cfg.Memory)
			p := &paper{sets: s, measure: cfg.Measure, algorithm: cfg.Algorithm, maxDepth: cfg.MaxDepth, prefixes: prefixes, from: from, to: to}
			p.indexes = newIndexes(s, prefixes, from, to)
			if !yield(p) {
				return
			}
			from = to
		}
	}
}

// prefixesOf computes them for the sizes that there are.
func prefixesOf(s *sets, prefix func(n int) int) []uint32 {
	prefixes := make([]uint32, len(s.first))
	for n := 1; n < len(s.first)-1; n++ {
		if s.first[n] < s.first[n+1] {
			prefixes[n] = uint32(prefix(n))
		}
	}
	return prefixes
}

func (p *paper) postings() int64 { return entriesOf(p.indexes) }

func (p *paper) blocks(yield func(from, to uint32) bool) {
	rowBlocks(p.from, p.len(), rowsOfBlock, yield)
}

const rowsOfBlock = 256

// rowBlocks are rows, from a part's first on: they are looked up among the rows of the part before them.
func rowBlocks(first, end uint32, rows uint64, yield func(from, to uint32) bool) {
	for from := uint64(first); from < uint64(end); from += rows {
		if !yield(uint32(from), uint32(min(from+rows, uint64(end)))) {
			return
		}
	}
}

func (p *paper) total() uint32 { return p.len() }

func (p *paper) finder() finder {
	return &prober{paper: p, bounds: bounds{measure: p.measure}, common: make([]int32, p.to-p.from)}
}

// hit is a partner of the row that is looked up.
type hit struct{ row, common uint32 }

// prober looks rows up; it belongs to one goroutine.
type prober struct {
	*paper
	bounds  bounds
	common  []int32  // by row of the part: A[y] of the row that is looked up; excluded: −∞
	touched []uint32 // rows with an A[y] other than 0 at some time
	hits    []hit
	stats   Stats
}

// excluded marks a row that the suffix filter has turned away.
const excluded = -1

func (p *prober) counted() *Stats { return &p.stats }

func (p *prober) find(from, to uint32, emit func(x, y uint32, common int) bool) {
	for x := from; x < to; x++ {
		side := int(p.members[x] / fromB)
		hits := p.partners(x, p.indexes[p.other(side)])
		slices.SortFunc(hits, func(g, h hit) int { return cmp.Compare(g.row, h.row) })
		for _, h := range hits {
			if !emit(p.members[x], p.members[h.row], int(h.common)) {
				return
			}
		}
	}
}

func (p *prober) partners(x uint32, list *index) []hit {
	tokens := p.row(x)
	if p.bounds.of(len(tokens)); p.bounds.prefix == 0 {
		return nil
	}
	from := p.first[p.bounds.min]
	for i, token := range tokens[:p.bounds.prefix] {
		if token >= p.single {
			begin, end := list.between(token, from, x)
			p.probe(tokens, i, list.entries[begin:end])
		}
	}
	return p.verify(tokens)
}

// probe goes through the rows that have token i of x.
func (p *prober) probe(x []uint32, i int, entries []entry) {
	p.stats.Entries += int64(len(entries))
	m := p.bounds.min
	for _, e := range entries {
		if e.row >= p.first[m+1] {
			m = len(p.row(e.row)) // and not the next one by one: of a large set there are many sizes between
		}
		a := &p.common[e.row-p.from]
		if *a == excluded {
			continue
		}
		if !p.passes(x, i, e, m, *a) {
			*a = min(*a, 0) // A[y] <- 0; what is possible only falls from here on, so no later token revives it
			continue
		}
		if *a == 0 {
			p.touched = append(p.touched, e.row)
			if p.algorithm == PPJoinPlus && !p.suffixPasses(x, i, e, m) {
				*a = excluded
				continue
			}
		}
		*a++
	}
}

// passes is the positional filter: whether a row of m tokens, of which a are known to be common, can have as many as it needs.
func (p *prober) passes(x []uint32, i int, e entry, m int, a int32) bool {
	if p.algorithm == AllPairs {
		return true
	}
	possible := a + int32(min(len(x)-i, m-int(e.position))) // this token and all behind it
	if possible < p.bounds.overlap[m-p.bounds.min] {
		return false
	}
	p.stats.Positional++
	return true
}

// suffixPasses tries what stands behind the first common token.
func (p *prober) suffixPasses(x []uint32, i int, e entry, m int) bool {
	j := int(e.position)
	y := p.row(e.row)
	limit := len(x) + m - 2*int(p.bounds.overlap[m-p.bounds.min]) - (i + j)
	if hammingBound(x[i+1:], y[j+1:], limit, 1, p.maxDepth) > limit {
		return false
	}
	p.stats.Suffix++
	return true
}

// verify compares the tokens of all candidates ([PPJ] algorithm 2). All common tokens of both prefixes are counted; of the row
// whose prefix ends with the smaller token, only what stands behind the prefix can have further ones. The prefix of y is the
// one that it is posted under, which with lemma 3 is shorter than the one it would be looked up with.
func (p *prober) verify(x []uint32) []hit {
	p.hits = p.hits[:0]
	for _, row := range p.touched {
		a := p.common[row-p.from]
		p.common[row-p.from] = 0
		if a <= 0 {
			continue
		}
		p.stats.Candidates++
		y := p.row(row)
		needed := int(p.bounds.overlap[len(y)-p.bounds.min]) - int(a)
		restX, restY := x[a:], y[p.prefixes[len(y)]:]
		if x[p.bounds.prefix-1] < y[p.prefixes[len(y)]-1] {
			restX, restY = x[p.bounds.prefix:], y[a:]
		}
		if more, ok := shared(restX, restY, needed); ok {
			p.hits = append(p.hits, hit{row, uint32(a) + uint32(more)})
		}
	}
	p.touched = p.touched[:0]
	return p.hits
}

// shared counts the tokens of both lists, unless they are fewer than needed.
func shared(x, y []uint32, needed int) (n int, ok bool) {
	i, j := 0, 0
	for i < len(x) && j < len(y) {
		if n+min(len(x)-i, len(y)-j) < needed {
			return 0, false
		}
		a, b := x[i], y[j]
		if a == b {
			n++
		}
		i += oneIf(a <= b)
		j += oneIf(b <= a)
	}
	return n, n >= needed
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

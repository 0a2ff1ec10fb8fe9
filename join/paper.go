package join

// hit is a partner of the row that is looked up.
type hit struct{ row, common uint32 }

// paper is AllPairs, PPJoin or PPJoinPlus, for one goroutine: [PPJ] algorithm 1, with lemma 3 and, in PPJoinPlus, the suffix
// filter.
type paper struct {
	*joined
	algorithm Algorithm
	bounds    bounds
	common    []int32  // by row of the part: A[y] of the row that is looked up; excluded: −∞
	touched   []uint32 // rows with an A[y] other than 0 at some time
	hits      []hit
	stats     Stats
}

// excluded marks a row that the suffix filter has turned away.
const excluded = -1

func newPaper(j *joined, a Algorithm) *paper {
	return &paper{joined: j, algorithm: a, bounds: bounds{measure: j.measure}, common: make([]int32, j.to-j.from)}
}

func (p *paper) counted() *Stats { return &p.stats }

func (p *paper) partners(x uint32) []hit {
	tokens := p.row(x)
	p.bounds.of(len(tokens))
	list, from := p.indexFor(x), p.first[p.bounds.min]
	for i, token := range tokens[:p.bounds.prefix] {
		p.meet(tokens, i, list.between(token, from, x))
	}
	return p.verify(tokens)
}

// meet goes through the rows that have token i of x.
func (p *paper) meet(x []uint32, i int, entries []entry) {
	p.stats.Met += int64(len(entries))
	m := p.bounds.min
	for _, e := range entries {
		for e.row >= p.first[m+1] {
			m++
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
func (p *paper) passes(x []uint32, i int, e entry, m int, a int32) bool {
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
func (p *paper) suffixPasses(x []uint32, i int, e entry, m int) bool {
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
func (p *paper) verify(x []uint32) []hit {
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

package join

import (
	"math/bits"

	"refrain/hashcodes"
)

// signed are the signatures of all rows, of 64 bits.
type signed struct {
	ones int
	rows []uint64
}

func newSigned(s *sets, model *hashcodes.Model) *signed {
	codes := codesByRank(len(s.ids))
	g := &signed{ones: 1, rows: make([]uint64, s.len())}
	for r := range s.len() {
		for _, token := range s.row(r) {
			g.rows[r] |= codes[token]
		}
	}
	return g
}

func codesByRank(n int) []uint64 {
	codes := make([]uint64, n)
	for r := range codes {
		codes[r] = 1 << (r % 64)
	}
	return codes
}

// ours is a prober.
type ours struct {
	*joined
	bounds bounds
	radius []int32  // [m-bounds.min]
	seen   []uint32 // by row of the part: the last row + 1 that it was compared with
	hits   []hit
	stats  Stats
}

func newOurs(j *joined) *ours {
	return &ours{joined: j, bounds: bounds{measure: j.measure}, seen: make([]uint32, j.to-j.from)}
}

func (p *ours) counted() *Stats { return &p.stats }

func (p *ours) partners(x uint32) []hit {
	tokens := p.row(x)
	p.of(len(tokens))
	p.hits = p.hits[:0]
	index, from, signature := p.indexFor(x), p.first[p.bounds.min], p.signed.rows[x]
	for i, token := range tokens[:p.bounds.prefix] {
		first, last := index.span(token, from, x)
		p.stats.Met += int64(last - first)
		signatures := index.signatures[first:last]
		m := p.bounds.min
		for k, e := range index.entries[first:last] {
			for e.row >= p.first[m+1] {
				m++
			}
			if bits.OnesCount64(signatures[k]^signature) <= int(p.radius[m-p.bounds.min]) {
				p.stats.Signature++
				p.compare(x, tokens, i, e, m)
			}
		}
	}
	return p.hits
}

func (p *ours) of(n int) {
	if p.bounds.n == n {
		return
	}
	p.bounds.of(n)
	p.radius = p.radius[:0]
	for k, o := range p.bounds.overlap {
		p.radius = append(p.radius, int32(p.signed.ones*(n+p.bounds.min+k-2*int(o))))
	}
}

// compare counts the common tokens of x and the row of e, of which this is the first one.
func (p *ours) compare(x uint32, tokens []uint32, i int, e entry, m int) {
	needed, j := int(p.bounds.overlap[m-p.bounds.min]), int(e.position)
	if min(len(tokens)-i, m-j) < needed {
		return
	}
	p.stats.Positional++
	if p.seen[e.row-p.from] == x+1 {
		return
	}
	p.seen[e.row-p.from] = x + 1
	p.stats.Candidates++
	if n, ok := shared(tokens[i+1:], p.row(e.row)[j+1:], needed-1); ok {
		p.hits = append(p.hits, hit{e.row, uint32(n) + 1})
	}
}

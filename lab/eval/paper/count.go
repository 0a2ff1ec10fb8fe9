package paper

import (
	"context"
	"math/bits"

	"refrain/hashcodes"
)

// counts are what searches within d find, of all queries together, by d from 0 to the bits of a signature.
type counts struct {
	queries    int
	candidates []int // [d] sentences within d
	cosine     []int // and those of them that are similar, by cosine
	jaccard    []int // and by Jaccard
}

// count compares the signatures of all queries with those of all sentences.
func (p *collection) count(ctx context.Context, m *hashcodes.Model) (*counts, error) {
	order := make([]uint32, len(p.sentences.Sets))
	for g := range order {
		order[g] = uint32(g)
	}
	sigs := p.sign(m, order)
	each := make([]counts, len(p.queries))
	err := eachPart(ctx, len(p.queries), func(q int) { each[q] = p.countOne(q, sigs) })
	sum := newCounts(m.Bits())
	for i := range each {
		sum.add(&each[i])
	}
	sum.accumulate()
	return &sum, err
}

func newCounts(bits int) counts {
	return counts{candidates: make([]int, bits+1), cosine: make([]int, bits+1), jaccard: make([]int, bits+1)}
}

// countOne counts by the distance itself.
func (p *collection) countOne(query int, sigs [][]uint32) counts {
	c := newCounts(32 * len(sigs))
	c.queries = 1
	distances := distances(sigs, p.queries[query])
	for g, d := range distances {
		c.candidates[d] += p.weights[g]
	}
	for _, n := range p.neighbours[query] {
		d := distances[n.group]
		c.cosine[d] += p.weights[n.group]
		if n.jaccard {
			c.jaccard[d] += p.weights[n.group]
		}
	}
	return c
}

// distances are those of all rows from one.
func distances(sigs [][]uint32, query uint32) []uint8 {
	d := make([]uint8, len(sigs[0]))
	for _, plane := range sigs {
		q := plane[query]
		for row, w := range plane {
			d[row] += uint8(bits.OnesCount32(w ^ q))
		}
	}
	return d
}

func (c *counts) add(o *counts) {
	c.queries += o.queries
	for d := range o.candidates {
		c.candidates[d] += o.candidates[d]
		c.cosine[d] += o.cosine[d]
		c.jaccard[d] += o.jaccard[d]
	}
}

// accumulate makes counts by distance counts within it.
func (c *counts) accumulate() {
	for _, list := range [][]int{c.candidates, c.cosine, c.jaccard} {
		for d := 1; d < len(list); d++ {
			list[d] += list[d-1]
		}
	}
}

// found is what is found within d, of one kind of truth.
type found struct {
	candidates, hits, all int
}

// truth says what counts as similar: by cosine, or by Jaccard. Every query finds itself; without self that is left out.
type truth struct{ jaccard, self bool }

// within says what searches within d find.
func (c *counts) within(d int, t truth) found {
	similar := c.cosine
	if t.jaccard {
		similar = c.jaccard
	}
	f := found{c.candidates[d], similar[d], similar[len(similar)-1]}
	if !t.self {
		f.candidates, f.hits, f.all = f.candidates-c.queries, f.hits-c.queries, f.all-c.queries
	}
	return f
}

// precision is the share of similar sentences among the candidates; 1 when there are none.
func (f found) precision() float64 { return share(f.hits, f.candidates) }

// recall is the share of the similar sentences that are candidates; 1 when there are none.
func (f found) recall() float64 { return share(f.hits, f.all) }

// aMillion is the size of the paper's collections.
const aMillion = 1_000_000

// inAMillion is what so many candidates, self-matches not among them, would be if a collection of n sentences had a million.
func inAMillion(candidates float64, n int) float64 { return candidates * aMillion / float64(max(1, n)) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// reaching is the least d with at least that recall.
func (c *counts) reaching(recall float64, t truth) int {
	for d := range c.candidates {
		if c.within(d, t).recall() >= recall {
			return d
		}
	}
	return len(c.candidates) - 1 // everything is within all bits
}

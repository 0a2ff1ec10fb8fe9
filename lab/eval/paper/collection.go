package paper

import (
	"context"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/lab/eval"
	"refrain/lab/eval/corpus"
	"refrain/text"
)

// collection is the sentences that are searched, with queries among them.
type collection struct {
	name       string
	sentences  *corpus.Sentences
	weights    []int         // group -> sentences with its token set
	queries    []uint32      // groups of the queries; the query is one of the group's sentences
	neighbours [][]neighbour // by query: all groups that are similar, its own among them
}

// neighbour is a group similar to a query.
type neighbour struct {
	group   uint32
	jaccard bool // similar by Jaccard too
}

func newCollection(name string, s *corpus.Sentences, queries int, seed uint64) *collection {
	p := &collection{name: name, sentences: s, weights: make([]int, len(s.Sets))}
	for _, g := range s.Groups {
		p.weights[g]++
	}
	r := rand.New(rand.NewPCG(seed, 2))
	for _, i := range r.Perm(s.Len())[:min(queries, s.Len())] {
		p.queries = append(p.queries, s.Groups[i])
	}
	return p
}

// withoutQueries yields the sentences whose token set no query has.
func (p *collection) withoutQueries() iter.Seq[[]uint64] {
	isQuery := make([]bool, len(p.sentences.Sets))
	for _, g := range p.queries {
		isQuery[g] = true
	}
	return func(yield func([]uint64) bool) {
		for _, g := range p.sentences.Groups {
			if !isQuery[g] && !yield(p.sentences.Sets[g]) {
				return
			}
		}
	}
}

// reaches says whether c common tokens of sets of n and m are a cosine of at least t: c >= t sqrt(n m).
func reaches(t text.Threshold, c, n, m int) bool { return t.Den*t.Den*c*c >= t.Num*t.Num*n*m }

// minCommon is the least number of common tokens that reaches a cosine of t.
func minCommon(t text.Threshold, n, m int) int {
	c := 0
	for !reaches(t, c, n, m) {
		c++
	}
	return c
}

// search fills neighbours, exactly: it looks at all pairs within the lossless radius of signatures with 128 bits, one a
// token. Two sets differ in n + m − 2c tokens, so in no more bits.
func (p *collection) search(ctx context.Context) error {
	codes, err := hashcodes.NewMD5(128, 1)
	if err != nil {
		return err
	}
	order := make([]uint32, len(p.sentences.Sets)) // row -> group, by rising size
	for g := range order {
		order[g] = uint32(g)
	}
	size := func(g uint32) int { return len(p.sentences.Sets[g]) }
	slices.SortStableFunc(order, func(a, b uint32) int { return size(a) - size(b) })
	var first [hashcodes.MaxSize + 2]int // first row of each size
	for n := range first {
		first[n], _ = slices.BinarySearchFunc(order, n, func(g uint32, n int) int { return size(g) - n })
	}
	planes := p.sign(codes, order)
	p.neighbours = make([][]neighbour, len(p.queries))
	return eachPart(ctx, len(p.queries), func(q int) {
		p.neighbours[q] = p.similarTo(p.queries[q], codes, order, first[:], planes)
	})
}

func (p *collection) similarTo(query uint32, codes *hashcodes.Model, order []uint32, first []int,
	planes [][]uint32) (list []neighbour) {
	x := p.sentences.Sets[query]
	n := len(x)
	sig := codes.Sign(make(hashcodes.Signature, codes.Words()), x)
	var parts []hamming.Part
	for m := 1; m <= hashcodes.MaxSize; m++ {
		if from, to := first[m], first[m+1]; from < to && reaches(similar, min(n, m), n, m) {
			parts = append(parts, hamming.Part{Query: hamming.Query{Signature: sig, Radius: n + m - 2*minCommon(similar, n, m)},
				From: from, To: to})
		}
	}
	hamming.ScanParts(planes, parts)
	for _, part := range parts {
		for _, row := range part.Hits {
			y := p.sentences.Sets[order[row]]
			if c := text.Intersection(x, y); reaches(similar, c, n, len(y)) {
				list = append(list, neighbour{order[row], text.Jaccard.At(similar).Reaches(c, n, len(y))})
			}
		}
	}
	return list
}

// sign returns the planes of the signatures of groups in that order.
func (p *collection) sign(m *hashcodes.Model, order []uint32) [][]uint32 {
	planes := make([][]uint32, m.Words())
	for w := range planes {
		planes[w] = make([]uint32, len(order))
	}
	const chunk = 1 << 12
	_ = eachPart(context.Background(), (len(order)+chunk-1)/chunk, func(i int) {
		sig := make(hashcodes.Signature, m.Words())
		for row := i * chunk; row < min((i+1)*chunk, len(order)); row++ {
			for w, word := range m.Sign(sig, p.sentences.Sets[order[row]]) {
				planes[w][row] = word
			}
		}
	})
	return planes
}

// eachPart calls work for 0 to n-1 on all processors, until the context ends.
func eachPart(ctx context.Context, n int, work func(i int)) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { work(i); return nil })
	}
	_ = g.Wait()
	return eval.Interrupted(ctx)
}

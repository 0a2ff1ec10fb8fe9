package paper

import (
	"context"
	"math/rand/v2"
	"time"

	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/lab/eval"
	"refrain/text"
)

// Verified is what looking at the candidates of queries took.
type Verified struct {
	Corpus     string  `json:"corpus"`
	Learner    string  `json:"learner"`
	Sentences  int     `json:"sentences"`
	Distance   int     `json:"d"`
	Recall     float64 `json:"recall"`     // of the whole collection within d
	Queries    int     `json:"queries"`    // that were measured
	Candidates float64 `json:"candidates"` // a query, sentences
	Seconds    float64 `json:"seconds"`    // for 2,000 queries, by the clock, one thread, the quickest of some passes
}

// maxVerified is how many candidates are verified for one figure: where queries have more, some queries, not all.
const maxVerified = 2_000_000

// table is signatures of sentences, repeats included, in random order: the first n are a smaller collection.
type table struct {
	*collection
	codes  *hashcodes.Model
	order  []uint32 // row -> group
	planes [][]uint32
}

func (p *collection) table(m *hashcodes.Model, seed uint64) *table {
	t := &table{collection: p, codes: m, order: make([]uint32, p.sentences.Len())}
	copy(t.order, p.sentences.Groups)
	r := rand.New(rand.NewPCG(seed, 3))
	r.Shuffle(len(t.order), func(i, j int) { t.order[i], t.order[j] = t.order[j], t.order[i] })
	t.planes = p.sign(m, t.order)
	return t
}

// first is the collection of the first n rows.
func (t *table) first(n int) *table {
	part := &table{collection: t.collection, codes: t.codes, order: t.order[:n]}
	for _, plane := range t.planes {
		part.planes = append(part.planes, plane[:n])
	}
	return part
}

// passes: the quickest of so many counts, since others use the machine too.
const passes = 3

// verify looks at the candidates within d of each query: it intersects their token sets with the query's, as a search must
// that wants to know which are similar. Finding the candidates is not in the time.
func (t *table) verify(ctx context.Context, d int) (Verified, error) {
	best, err := t.verifyOnce(ctx, d)
	for n := 1; n < passes && err == nil; n++ {
		var v Verified
		v, err = t.verifyOnce(ctx, d)
		best.Seconds = min(best.Seconds, v.Seconds)
	}
	return best, err
}

func (t *table) verifyOnce(ctx context.Context, d int) (Verified, error) {
	v := Verified{Corpus: t.name, Distance: d, Sentences: len(t.order)}
	sig := make(hashcodes.Signature, t.codes.Words())
	var hits []uint32
	var took time.Duration
	candidates := 0
	for _, query := range t.queries {
		if err := eval.Interrupted(ctx); err != nil {
			return v, err
		}
		if candidates >= maxVerified {
			break
		}
		hits = hamming.Scan(hits[:0], t.planes, t.codes.Sign(sig, t.sentences.Sets[query]), d)
		begin := time.Now()
		t.similarAmong(hits, query)
		took += time.Since(begin)
		candidates += len(hits)
		v.Queries++
	}
	n := float64(max(1, v.Queries))
	v.Candidates, v.Seconds = float64(candidates)/n, took.Seconds()/n*maxQueries
	return v, nil
}

// similarAmong counts the rows that are similar to a query.
func (t *table) similarAmong(rows []uint32, query uint32) (n int) {
	x := t.sentences.Sets[query]
	for _, row := range rows {
		y := t.sentences.Sets[t.order[row]]
		if reaches(similar, text.Intersection(x, y), len(x), len(y)) {
			n++
		}
	}
	return n
}

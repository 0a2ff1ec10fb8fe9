package train

import (
	"math"
	"math/bits"

	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/text"
)

// recalls are what a search within a fixed distance should find of the similar sets.
var recalls = []float64{0.9, 0.95, 0.99}

// choice takes the best of several models on the validation sets: that with the fewest false candidates within the lossless
// radius or, with Config.Fixed, within fixed distances.
type choice struct {
	*learning
	fixed   *fixed    // nil without Config.Fixed
	hashed  []float64 // recall by distance that must not be lost; see setBaseline
	model   *hashcodes.Model
	minCost float64
	order   int // in the order of offers
	offers  int
}

// maxLost is how much less than with hashed codes searches within some distance may find: the paper rounds like this, and a
// few thousand similar sets hardly tell less.
const maxLost = 0.005

func (l *learning) newChoice() (*choice, error) {
	c := &choice{learning: l}
	if !l.Fixed {
		return c, nil
	}
	wideModel, err := hashcodes.NewMD5(128, 1)
	if err != nil {
		return nil, err
	}
	c.fixed = newFixed(l.all, l.Measure.Threshold, l.queries, wideModel, l.Workers)
	return c, l.ctx.Err()
}

// offer returns the cost by which models are compared.
func (c *choice) offer(m *hashcodes.Model) float64 {
	cost := c.cost(m)
	if c.model == nil || cost < c.minCost {
		c.model, c.minCost, c.order = m, cost, c.offers
	}
	c.offers++
	return cost
}

// cost is the false candidates of a query, or those at fixed distances, false and true.
func (c *choice) cost(m *hashcodes.Model) float64 {
	if c.fixed == nil {
		return c.validate(m).PerQuery()
	}
	candidates, similar := c.fixed.count(m)
	return math.Exp(costAt(candidates, similar, len(c.fixed.queries)))
}

// setBaseline has losesRecall compare with a model.
func (c *choice) setBaseline(hashed *hashcodes.Model) {
	_, similar := c.fixed.count(hashed)
	c.hashed = recallWithin(similar)
}

// losesRecall reports whether a search within some fixed distance finds less than with the model of setBaseline.
func (c *choice) losesRecall(m *hashcodes.Model) bool {
	_, similar := c.fixed.count(m)
	for d, recall := range recallWithin(similar) {
		if recall < c.hashed[d]-maxLost {
			return true
		}
	}
	return false
}

// recallWithin is the share of the similar sets that lie within each distance, of counts by distance.
func recallWithin(similar []int) []float64 {
	recall, within, all := make([]float64, len(similar)), 0, 0
	for _, n := range similar {
		all += n
	}
	for d, n := range similar {
		within += n
		recall[d] = float64(within) / float64(max(1, all))
	}
	return recall
}

// chosen is the best, and what it costs within the lossless radius.
func (c *choice) chosen() (*hashcodes.Model, Cost, error) {
	return c.model, c.validate(c.model), c.ctx.Err()
}

// fixed are searches within a fixed distance: every query against all sets of the sample.
type fixed struct {
	all     *table
	queries [][]uint64
	similar [][]uint32 // by query: rows of the sets that are similar, but not equal
	workers int
}

// newFixed finds what is similar, with signatures of its own: from a cosine of θ on, whatever the measure that codes are
// for, since that is what the paper's searches are for.
func newFixed(all *table, threshold text.Threshold, queries [][]uint64, m *hashcodes.Model, workers int) *fixed {
	f := &fixed{all: all, queries: queries, similar: make([][]uint32, len(queries)), workers: workers}
	similar := text.Cosine.At(threshold)
	t := newTable(all.sets, m.Words()) // in the same order: it is by size already
	t.sign(m)
	const chunk = 50
	parallel(workers, (len(queries)+chunk-1)/chunk, func(i int) {
		bounds := hashcodes.NewBounds(similar, m.Ones())
		sig := make(hashcodes.Signature, m.Words())
		var parts []hamming.Part
		for q := i * chunk; q < min((i+1)*chunk, len(queries)); q++ {
			parts = t.parts(parts[:0], bounds.For(len(queries[q])), m.Sign(sig, queries[q]), 0)
			hamming.ScanParts(t.planes, parts)
			for i := range parts {
				f.similar[q] = appendNear(f.similar[q], t, similar, queries[q], parts[i].Hits)
			}
		}
	})
	return f
}

func appendNear(dst []uint32, t *table, similar text.Measure, query []uint64, rows []uint32) []uint32 {
	for _, row := range rows {
		set := t.sets[row]
		common := text.Intersection(query, set)
		if equal := common == len(query) && common == len(set); !equal && similar.Reaches(common, len(query), len(set)) {
			dst = append(dst, row)
		}
	}
	return dst
}

// count counts the sets, and those of them that are similar, by their distance from the queries.
func (f *fixed) count(m *hashcodes.Model) (candidates, similar []int) {
	f.all.sign(m)
	candidates, similar = make([]int, m.Bits()+1), make([]int, m.Bits()+1)
	eachCandidates, eachNear := make([][]int, len(f.queries)), make([][]int, len(f.queries))
	parallel(f.workers, len(f.queries), func(q int) { eachCandidates[q], eachNear[q] = f.distances(m, q) })
	for q := range f.queries {
		for d := range candidates {
			candidates[d] += eachCandidates[q][d]
			similar[d] += eachNear[q][d]
		}
	}
	return candidates, similar
}

// distances counts the rows, and those of them that are similar, by their distance from a query.
func (f *fixed) distances(m *hashcodes.Model, query int) (all, similar []int) {
	all, similar = make([]int, m.Bits()+1), make([]int, m.Bits()+1)
	sig := m.Sign(make(hashcodes.Signature, m.Words()), f.queries[query])
	distances := make([]uint16, len(f.all.sets))
	for w, plane := range f.all.planes {
		for row, word := range plane {
			distances[row] += uint16(bits.OnesCount32(word ^ sig[w]))
		}
	}
	for _, d := range distances {
		all[d]++
	}
	for _, row := range f.similar[query] {
		similar[distances[row]]++
	}
	return all, similar
}

// costAt is the mean logarithm of the candidates of a query at the least distances that reach the recalls, of counts by
// distance; 0 where nothing is similar to anything. Between two distances it is on the line that joins them, since on one
// side of a step codes would seem many times better than on the other.
func costAt(candidates, similar []int, queries int) float64 {
	total := 0
	for _, n := range similar {
		total += n
	}
	if total == 0 {
		return 0
	}
	logarithm := func(candidates int) float64 { return math.Log(float64(max(candidates, 1)) / float64(queries)) }
	sum, d, within, found := 0.0, 0, candidates[0], similar[0]
	for _, recall := range recalls {
		target := recall * float64(total)
		for float64(found) < target {
			d++
			within, found = within+candidates[d], found+similar[d]
		}
		cost := logarithm(within)
		if d > 0 {
			over := (float64(found) - target) / float64(similar[d]) // what is found above the target, of what d adds
			cost -= min(over, 1) * (cost - logarithm(within-candidates[d]))
		}
		sum += cost
	}
	return sum / float64(len(recalls))
}

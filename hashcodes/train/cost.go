package train

import (
	"context"
	"math"

	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/text"
)

// Cost is what searches cost: the candidates inside the lossless radius, over some queries.
type Cost struct {
	Queries int `json:"queries"`
	True    int `json:"true"`  // candidates that are similar enough: with any codes they are found
	False   int `json:"false"` // the others: what good codes avoid
}

// PerQuery is the mean number of false candidates of a query.
func (c Cost) PerQuery() float64 { return float64(c.False) / float64(max(c.Queries, 1)) }

// Beats reports whether a model of cost c is worth taking instead of one of cost o: its gain is at least 5 %, and more than
// chance makes. Counts of rare things differ by about their root.
func (c Cost) Beats(o Cost) bool {
	gain := float64(o.False - c.False)
	return gain >= 0.05*float64(o.False) && gain > 2*math.Sqrt(float64(o.False+c.False))
}

// Count searches the sets for each of the queries under a model, within the radius that loses no pair that the
// measure takes for similar enough. A set equal to the query counts as neither true nor false. When the context ends the cost is not whole.
func Count(ctx context.Context, m *hashcodes.Model, similar text.Measure, queries, sets [][]uint64) Cost {
	tab := newTable(sets, m.Words())
	tab.sign(m)
	return tab.count(ctx, m, similar, queries, 1)
}

// count searches the table, which the model has signed, until the context ends.
func (t *table) count(ctx context.Context, m *hashcodes.Model, similar text.Measure, queries [][]uint64,
	workers int) Cost {
	const chunk = 50
	costs := make([]Cost, (len(queries)+chunk-1)/chunk)
	parallelUntil(ctx, workers, len(costs), func(i int) {
		costs[i] = t.countSome(m, similar, queries[i*chunk:min((i+1)*chunk, len(queries))])
	})
	sum := Cost{Queries: len(queries)}
	for _, c := range costs {
		sum.True += c.True
		sum.False += c.False
	}
	return sum
}

func (t *table) countSome(m *hashcodes.Model, similar text.Measure, queries [][]uint64) (c Cost) {
	bounds := hashcodes.NewBounds(similar, m.Ones())
	sig := make(hashcodes.Signature, m.Words())
	var parts []hamming.Part
	for _, q := range queries {
		parts = t.parts(parts[:0], bounds.For(len(q)), m.Sign(sig, q), 0)
		hamming.ScanParts(t.planes, parts)
		for i := range parts {
			for _, row := range parts[i].Hits {
				c.add(similar, q, t.sets[row])
			}
		}
	}
	return c
}

func (c *Cost) add(m text.Measure, a, b []uint64) {
	common := text.Intersection(a, b)
	switch {
	case common == len(a) && common == len(b):
	case m.Reaches(common, len(a), len(b)):
		c.True++
	default:
		c.False++
	}
}

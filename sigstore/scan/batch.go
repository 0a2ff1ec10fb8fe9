package scan

import (
	"cmp"
	"slices"

	"refrain/hashcodes"
	"refrain/sigstore"
)

// batch is the queries of one search, by number of tokens: those whose partners may be of the sizes of a band are then
// neighbours, since greater sets have partners of greater sizes.
type batch struct {
	queries []boundedQuery
	jobs    []job
}

// boundedQuery is a query and what is the same for every band.
type boundedQuery struct {
	*hashcodes.SizeBounds
	*sigstore.Query
	weight int // ones
	half   int // of its first half
	index  int // in the batch
}

// job is a band and the queries to be asked of it.
type job struct {
	*band
	block    uint32
	from, to int // in queries
}

// comparisons is how much work a job is, before weights.
func (j *job) comparisons() int { return len(j.rows) * (j.to - j.from) }

func (b *batch) begin(queries []sigstore.Query, bounds *hashcodes.Bounds) {
	b.queries, b.jobs = b.queries[:0], b.jobs[:0]
	for i := range queries {
		q := &queries[i]
		all, half := weightsOf(q.Signature)
		b.queries = append(b.queries, boundedQuery{bounds.For(q.Size), q, all, half, i})
	}
	if len(queries) > 1 {
		slices.SortFunc(b.queries, func(x, y boundedQuery) int { return cmp.Compare(x.Size, y.Size) })
	}
}

// plan lists the jobs of a block. Bands follow each other by size as a rule, so that the queries of the one before are
// a good guess.
func (b *batch) plan(from *block, number uint32) {
	if len(b.queries) == 0 {
		return
	}
	j, minSize, maxSize := job{block: number}, b.queries[0].Min, b.queries[len(b.queries)-1].Max
	for i, s := range from.sizes {
		if int(s.high) >= minSize && int(s.low) <= maxSize {
			b.addJob(&j, from.sealed[i])
		}
	}
	for n := max(minSize, from.next); n <= min(maxSize, len(from.open)-1); n++ {
		if s := &from.open[n]; len(s.rows) > 0 {
			b.addJob(&j, s)
		}
	}
}

func (b *batch) addJob(j *job, s *band) {
	j.band = s
	b.find(j)
	if j.from < j.to {
		b.jobs = append(b.jobs, *j)
	}
}

// find sets the queries of a job: the first whose partners may be as large as the band's smallest rows, and all
// behind it up to the first whose partners must be larger than its largest.
func (b *batch) find(j *job) {
	for j.from < len(b.queries) && b.queries[j.from].Max < j.low {
		j.from++
	}
	for j.from > 0 && b.queries[j.from-1].Max >= j.low {
		j.from--
	}
	for j.to < len(b.queries) && b.queries[j.to].Min <= j.high {
		j.to++
	}
	for j.to > 0 && b.queries[j.to-1].Min > j.high {
		j.to--
	}
}

// runs appends the positions of a band that are to be read.
func (a *boundedQuery) runs(dst []run, b *band, radius, gap int) []run {
	switch {
	case b.order.starts == nil:
		return append(dst, run{0, len(b.rows)})
	case len(b.rows) < 4*gap:
		return append(dst, b.order.fullRun(a, radius))
	}
	return b.order.runs(dst, a, radius, gap)
}

// radius is the greatest that loses nothing among the rows of a band: -1 where the query can match none.
func (a *boundedQuery) radius(b *band) int {
	radius := int16(-1)
	for _, r := range a.Radius[max(b.low-a.Min, 0) : min(b.high, a.Max)-a.Min+1] {
		radius = max(radius, r)
	}
	return int(radius)
}

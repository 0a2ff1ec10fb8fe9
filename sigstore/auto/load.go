package auto

import (
	"cmp"
	"math"
	"slices"

	"refrain/sigstore"
)

// Load is what look-ups meet in a window, on the average, as a sample of its rows says.
type Load struct {
	Threshold float64
	Rows      float64 // in the window
	Blocks    float64
	Batch     float64 // queries that are asked at once
	Together  float64 // queries that come at once, of which the engine may have asked for fewer; infinity: nobody knows yet
	Bands     float64 // sizes that a partner may have
	Compared  float64 // rows whose size a partner may have
	Probes    float64 // tokens of a prefix
	Postings  float64 // rows, counted once for each token, that share a token of the prefix

	nearRows func() float64
}

// Near is the number of rows that pass the holders of a look-up and are not similar enough. To count those of a sample takes
// milliseconds.
func (l Load) Near() float64 {
	if l.nearRows == nil {
		return 0
	}
	return l.nearRows()
}

// sampled is the number of rows that are looked at.
const sampled = 2048

// load samples the rows, and takes them for the next queries.
func (x *index) load() Load {
	const size = 200 // of a set, to read the threshold off its bounds
	l := Load{Blocks: float64(len(x.rows)), Batch: 1, Threshold: float64(x.cfg.Bounds.For(size).Min) / size}
	if x.searches > 0 {
		l.Batch = float64(x.queries) / float64(x.searches)
		x.learnTogether(l.Batch)
	}
	x.searches, x.queries = 0, 0
	l.Together, l.nearRows = x.together, x.near
	l.Rows = float64(x.count())
	s := sample{df: x.source.Frequencies(), bounds: x, tokens: map[uint32]int{}}
	x.sample(func(r sigstore.Row) { s.add(x.source.Tokens(r)) })
	s.fill(&l)
	return l
}

// sample visits some rows of all blocks.
func (x *index) sample(visit func(sigstore.Row)) {
	step := max(1, (x.count()+sampled-1)/sampled)
	for n, rows := range x.rows {
		for row := 0; row < int(rows); row += step {
			visit(sigstore.Row{Block: x.first + uint32(n), Row: uint32(row)})
		}
	}
}

// learnTogether learns how many queries come together from how many an engine was asked at once. One that takes few at once,
// and was asked as many, says only that there were no fewer.
func (x *index) learnTogether(batch float64) {
	const full = 0.75
	switch {
	case batch < full*float64(x.Index.Batch()):
		x.together = batch
	case batch > x.together:
		x.together = math.Inf(1)
	}
}

// sample counts sizes and the tokens of prefixes.
type sample struct {
	df     []uint32
	bounds *index
	rows   int
	sizes  []int
	probes int
	tokens map[uint32]int // rows of the sample with a token in their prefix
	sorted []uint32
}

func (s *sample) add(tokens []uint32) {
	if len(tokens) == 0 {
		return
	}
	s.rows++
	for len(s.sizes) <= len(tokens) {
		s.sizes = append(s.sizes, 0)
	}
	s.sizes[len(tokens)]++
	s.sorted = append(s.sorted[:0], tokens...)
	slices.SortFunc(s.sorted, func(a, b uint32) int { return cmp.Or(cmp.Compare(s.df[a], s.df[b]), cmp.Compare(a, b)) })
	prefix := s.bounds.cfg.Bounds.For(len(tokens)).Prefix
	s.probes += prefix
	for _, t := range s.sorted[:prefix] {
		s.tokens[t]++
	}
}

// fill turns counts into what one look-up meets in the whole window.
func (s *sample) fill(l *Load) {
	if s.rows == 0 {
		return
	}
	n := float64(s.rows)
	l.Probes = float64(s.probes) / n
	for size, queries := range s.sizes {
		if queries == 0 {
			continue
		}
		b := s.bounds.cfg.Bounds.For(size)
		l.Bands += float64(queries) / n * float64(len(b.Radius))
		for m := b.Min; m <= min(b.Max, len(s.sizes)-1); m++ {
			l.Compared += float64(queries) / n * float64(s.sizes[m]) / n * l.Rows
		}
	}
	for _, rows := range s.tokens {
		l.Postings += float64(rows) * float64(rows-1) / n / n * l.Rows
	}
}

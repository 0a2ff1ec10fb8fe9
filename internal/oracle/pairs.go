package oracle

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"refrain/text"
)

// Pairs are the pairs of groups that a measure takes for similar. Found once, they give the events of every measure that is
// no wider, in every span.
type Pairs struct {
	index *Index
	of    text.Measure
	all   []pair
}

// Pairs finds those of a measure: 12 bytes a pair.
func (x *Index) Pairs(m text.Measure) *Pairs { return &Pairs{x, m, slices.Collect(x.similar(m))} }

// Matches is Index.Matches.
func (p *Pairs) Matches(m text.Measure, span time.Duration) iter.Seq[Match] {
	if !covers(p.of, m) {
		panic(fmt.Sprintf("oracle: pairs of %v are not all those of %v", p.of, m))
	}
	return p.index.matches(p.similar(m), m.Similarity, span)
}

// covers reports whether what is similar by one measure is by a wider one, whatever the sizes: at one threshold what Jaccard
// takes Dice does, and what Dice takes the cosine.
func covers(wide, m text.Measure) bool {
	width := []text.Similarity{text.Jaccard, text.Dice, text.Cosine}
	return slices.Index(width, wide.Similarity) >= slices.Index(width, m.Similarity) && wide.Threshold.Compare(m.Threshold) <= 0
}

func (p *Pairs) similar(m text.Measure) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		for _, two := range p.all {
			n, k := len(p.index.groups[two.a].tokens), len(p.index.groups[two.b].tokens)
			if reaches(m, int(two.common), n, k) && !yield(two) {
				return
			}
		}
	}
}

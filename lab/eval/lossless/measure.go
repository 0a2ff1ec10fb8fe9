package lossless

import (
	"refrain/hashcodes"
	"refrain/text"
)

// bounds are what a measure allows, by size, computed at once so that goroutines may share them.
type bounds [hashcodes.MaxSize + 1]sizeBounds

type sizeBounds struct {
	min, max int     // sizes that a partner may have; none where max is less
	overlap  []int16 // [k-min]: least |x ∩ y| with a partner of k tokens
}

func boundsOf(m text.Measure) *bounds {
	all := new(bounds)
	for n := 1; n <= hashcodes.MaxSize; n++ {
		minSize, maxSize := m.Sizes(n)
		b := &all[n]
		b.min, b.max = max(minSize, 1), min(maxSize, hashcodes.MaxSize)
		for k := b.min; k <= b.max; k++ {
			b.overlap = append(b.overlap, int16(m.MinOverlap(n, k)))
		}
	}
	return all
}

// at is the least overlap with a partner of k tokens, which must be within min and max.
func (b *sizeBounds) at(k int) int { return int(b.overlap[k-b.min]) }

// nameOf is what the tables call a similarity.
func nameOf(s text.Similarity) string {
	if s == text.Jaccard {
		return "Jaccard"
	}
	return s.String()
}

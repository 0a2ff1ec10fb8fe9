package ppjoin

import (
	"math"

	"refrain/text"
)

// sizes are the bounds of a threshold by the size of a set, computed when first asked for.
type sizes struct {
	threshold text.Threshold
	known     []*size
}

// size is what a threshold allows for the partners of a set of n tokens.
type size struct {
	min     int
	overlap []uint16 // [m-min]: least |x ∩ y| with a partner of m tokens
	prefix  int      // n - ceil(θ n) + 1
}

func (s *sizes) of(n int) *size {
	for len(s.known) <= n {
		s.known = append(s.known, nil)
	}
	if s.known[n] == nil {
		s.known[n] = s.compute(n)
	}
	return s.known[n]
}

func (s *sizes) compute(n int) *size {
	jaccard := text.Jaccard.At(s.threshold)
	low, high := jaccard.Sizes(n)
	b := &size{min: low, prefix: jaccard.Prefix(n)}
	for m := low; m <= min(high, math.MaxUint16); m++ {
		b.overlap = append(b.overlap, uint16(jaccard.MinOverlap(n, m)))
	}
	return b
}

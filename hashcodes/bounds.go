package hashcodes

import "refrain/text"

// MaxSize is the largest token set there is: longer sentences are cut.
const MaxSize = 256

// Bounds holds what a measure and a model's ones per token allow for two sets of given sizes, so that the
// engines look it up instead of dividing once a candidate. Not safe for concurrent use.
type Bounds struct {
	measure text.Measure
	ones    int
	rows    [MaxSize + 1]*SizeBounds
}

// SizeBounds are the bounds for the partners of a set of one size n.
type SizeBounds struct {
	Min, Max int     // sizes a partner may have
	Overlap  []int16 // [m-Min]: least |x ∩ y| with a partner of size m
	Radius   []int16 // [m-Min]: lossless Hamming radius, bits
	Prefix   int     // so many of the rarest tokens hold one of every partner's

	n, ones int
}

// Apart is how many bits the tokens can set that the set has and a partner of size m lacks, and those that the partner has
// and the set lacks: ones · |x \ y| and ones · |y \ x| at the least overlap. See Counters.
func (s *SizeBounds) Apart(m int) (own, other int) {
	overlap := int(s.Overlap[m-s.Min])
	return s.ones * (s.n - overlap), s.ones * (m - overlap)
}

// NewBounds returns the bounds of a measure for codes of at most ones bits a token.
func NewBounds(m text.Measure, ones int) *Bounds { return &Bounds{measure: m, ones: ones} }

// For returns the bounds of a set of n tokens, 0 <= n <= MaxSize. The set of none, which stands for a dead row where an
// index gives its rows to another, has no partners: Min is above Max.
func (b *Bounds) For(n int) *SizeBounds {
	if b.rows[n] == nil {
		b.rows[n] = b.compute(n)
	}
	return b.rows[n]
}

func (b *Bounds) compute(n int) *SizeBounds {
	low, high := b.measure.Sizes(n)
	s := &SizeBounds{Min: max(low, 1), Max: min(high, MaxSize), Prefix: b.measure.Prefix(n), n: n, ones: b.ones}
	for m := s.Min; m <= s.Max; m++ {
		s.Overlap = append(s.Overlap, int16(b.measure.MinOverlap(n, m)))
		s.Radius = append(s.Radius, int16(Radius(b.measure, b.ones, n, m)))
	}
	return s
}

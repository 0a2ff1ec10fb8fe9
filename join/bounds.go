package join

import (
	"slices"

	"refrain/text"
)

// bounds are what a measure says of the partners of a set of n tokens that are no larger.
type bounds struct {
	measure text.Measure
	n       int
	min     int     // the smallest partner
	prefix  int     // tokens that are looked up
	overlap []int32 // [m-min]: least |x ∩ y| with a partner of m tokens, m <= n
}

// of makes b those of n tokens. Sets come by rising size, so it seldom has to.
func (b *bounds) of(n int) {
	if b.n == n {
		return
	}
	b.n = n
	b.min, _ = b.measure.Sizes(n)
	b.min = max(b.min, 1)
	b.prefix = b.measure.Prefix(n)
	b.overlap = b.overlap[:0]
	for m := b.min; m <= n; m++ {
		b.overlap = append(b.overlap, int32(b.measure.MinOverlap(n, m)))
	}
}

// pairBounds are bounds of all sizes up to longest at once.
type pairBounds struct {
	sizes []sizeBounds // [n]
}

// sizeBounds are those of partners of a set of n tokens that are no larger.
type sizeBounds struct {
	min     uint32  // the smallest partner
	apart   uint32  // tokens that only one of x and a partner has, at most
	overlap []int32 // [m-min]
}

func newPairBounds(s *sets, m text.Measure) *pairBounds {
	b := &pairBounds{sizes: make([]sizeBounds, len(s.first))}
	of := bounds{measure: m}
	for n := 1; n < len(s.first)-1 && n <= longest; n++ {
		if s.first[n] == s.first[n+1] {
			continue
		}
		of.of(n)
		k := sizeBounds{min: uint32(of.min), overlap: slices.Clone(of.overlap)}
		for i, o := range of.overlap {
			k.apart = max(k.apart, uint32(n+of.min+i-2*int(o)))
		}
		b.sizes[n] = k
	}
	return b
}

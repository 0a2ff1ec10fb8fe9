package join

import "refrain/text"

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

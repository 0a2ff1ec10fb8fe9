package lossless

import (
	"fmt"
	"math"

	"refrain/hashcodes"
	"refrain/text"
)

// Measure is a similarity of sets with a threshold: Jaccard, or the cosine |x ∩ y| / sqrt(n m) of two sets of n and m
// tokens. Its arithmetic is on integers throughout: a ceiling that is one off at some size loses pairs, or keeps a
// radius that is wider than need be.
type Measure struct {
	Threshold text.Threshold
	Cosine    bool
}

// Jaccard is the measure of a detector.
func Jaccard(t text.Threshold) Measure { return Measure{Threshold: t} }

// Cosine of sets. Thresholds with denominators of more than 10,000 could overflow on sets of the largest size.
func Cosine(t text.Threshold) Measure { return Measure{Threshold: t, Cosine: true} }

// Name is "Jaccard" or "cosine".
func (m Measure) Name() string {
	if m.Cosine {
		return "cosine"
	}
	return "Jaccard"
}

func (m Measure) String() string { return fmt.Sprintf("%s %.4g", m.Name(), m.Threshold.Float()) }

// Overlap is the least |x ∩ y| at which sets of n and k tokens are similar enough. For the cosine it is ceil(θ sqrt(n k)):
// the least o with (o · Den)² >= Num² n k, that is with o · Den >= ceil(sqrt(Num² n k)).
func (m Measure) Overlap(n, k int) int {
	t := m.Threshold
	if !m.Cosine {
		return t.Overlap(n, k)
	}
	return ceilDiv(ceilSqrt(t.Num*t.Num*n*k), t.Den)
}

// Sizes are the minimum and the maximum size of a set that can be similar enough to one of n tokens. An intersection is no
// larger than the smaller set, so the cosine is at most sqrt(min / max): θ² n to n / θ².
func (m Measure) Sizes(n int) (minSize, maxSize int) {
	t := m.Threshold
	if !m.Cosine {
		return t.Sizes(n)
	}
	return ceilDiv(t.Num*t.Num*n, t.Den*t.Den), t.Den * t.Den * n / (t.Num * t.Num)
}

// Radius is the lossless Hamming radius of two sets of n and k tokens under codes of at most so many ones; -1 where sets
// of these sizes cannot be similar enough. See hashcodes.Radius: only the least overlap differs.
func (m Measure) Radius(ones, n, k int) int {
	if n <= 0 || k <= 0 {
		return -1
	}
	overlap := m.Overlap(n, k)
	if overlap > min(n, k) {
		return -1
	}
	return ones * (n + k - 2*overlap)
}

// bounds are what a measure allows, by size, computed at once so that goroutines may share them.
type bounds [hashcodes.MaxSize + 1]sizeBounds

type sizeBounds struct {
	min, max int     // sizes that a partner may have; none where max is less
	overlap  []int16 // [k-min]: least |x ∩ y| with a partner of k tokens
}

func (m Measure) bounds() *bounds {
	all := new(bounds)
	for n := 1; n <= hashcodes.MaxSize; n++ {
		minSize, maxSize := m.Sizes(n)
		b := &all[n]
		b.min, b.max = max(minSize, 1), min(maxSize, hashcodes.MaxSize)
		for k := b.min; k <= b.max; k++ {
			b.overlap = append(b.overlap, int16(m.Overlap(n, k)))
		}
	}
	return all
}

// at is the least overlap with a partner of k tokens, which must be within min and max.
func (b *sizeBounds) at(k int) int { return int(b.overlap[k-b.min]) }

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// ceilSqrt is the least s with s² >= v. The floating root is only where the search begins.
func ceilSqrt(v int) int {
	s := int(math.Sqrt(float64(v)))
	for s*s >= v && s > 0 {
		s--
	}
	for s*s < v {
		s++
	}
	return s
}

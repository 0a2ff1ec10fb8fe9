package text

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Similarity is a similarity of two sets; its zero value is Jaccard. Below, x and y are sets of n and k tokens.
type Similarity uint8

// The similarities. All but Overlap go from 0, of sets without a common token, to 1, of equal sets. Cosine is never less
// than Dice, the same where n = k, and Dice never less than Jaccard.
const (
	Jaccard Similarity = iota // |x ∩ y| / |x ∪ y|
	Cosine                    // |x ∩ y| / √(n k)
	Dice                      // 2 |x ∩ y| / (n + k)
	Overlap                   // |x ∩ y|, a number of tokens
)

var similarityNames = []string{"jaccard", "cosine", "dice", "overlap"}

// Similarities are the names of those that go from 0 to 1, which a detector can have.
var Similarities = similarityNames[:Overlap]

// ParseSimilarity reads the name of one.
func ParseSimilarity(name string) (Similarity, error) {
	i := slices.Index(similarityNames, name)
	if i < 0 {
		return 0, fmt.Errorf("measure %q: want %s", name, detectable)
	}
	return Similarity(i), nil
}

const detectable = "jaccard, cosine or dice"

// Check reports one that a detector cannot have.
func (s Similarity) Check() error {
	if s == Overlap {
		return fmt.Errorf("measure overlap: it is for joins, since it is no share of a sentence but a number of words: want %s", detectable)
	}
	if s > Overlap {
		return fmt.Errorf("measure %v: want %s", s, detectable)
	}
	return nil
}

// String is the name.
func (s Similarity) String() string {
	if int(s) < len(similarityNames) {
		return similarityNames[s]
	}
	return fmt.Sprintf("similarity %d", uint8(s))
}

// Of is the similarity of two sets, each ascending and without repeats; 0 when either is empty.
func (s Similarity) Of(x, y []uint64) float64 { return s.Value(Intersection(x, y), len(x), len(y)) }

// Value is the similarity of sets of n and k tokens with so many in common, rounded to a float64, for display.
func (s Similarity) Value(common, n, k int) float64 {
	both := float64(common)
	switch {
	case common == 0:
		return 0
	case s == Jaccard:
		return both / float64(n+k-common)
	case s == Cosine:
		return both / math.Sqrt(float64(n)*float64(k))
	case s == Dice:
		return 2 * both / float64(n+k)
	}
	return both
}

// At is the measure of a similarity and a threshold.
func (s Similarity) At(t Threshold) Measure { return Measure{s, t} }

// Measure says which sets are similar enough: those whose similarity is at least the threshold, which for Overlap is a
// whole number of tokens, Threshold{α, 1}.
//
// Its arithmetic is on integers, so that it is exact: a least overlap that is one too great loses pairs, one too small
// makes every filter wider than need be. It holds for sets of up to 2²⁰ tokens and thresholds that ParseThreshold reads.
//
// To a filter a measure is only its least overlap for two sizes, which grows with either. That it is at most the smaller
// size gives the sizes that a partner may have. The least overlap with any partner is that with the smallest: just its
// size, for all tokens of that one are common then.
type Measure struct {
	Similarity Similarity
	Threshold  Threshold
}

// String is "cosine 4/5", or "overlap 5".
func (m Measure) String() string {
	if m.Similarity == Overlap {
		return fmt.Sprintf("%v %d", m.Similarity, m.Threshold.Num)
	}
	return m.Similarity.String() + " " + m.Threshold.String()
}

// Check reports a measure that a detector cannot have.
func (m Measure) Check() error {
	if err := m.Similarity.Check(); err != nil {
		return err
	}
	if t := m.Threshold; t.Num < 1 || t.Num > t.Den {
		return fmt.Errorf("threshold %d/%d: want more than 0 and at most 1", t.Num, t.Den)
	}
	return nil
}

// MinOverlap is the least |x ∩ y| at which sets of n and k tokens, at least one each, are similar enough. It is more than
// min(n, k) where none is.
func (m Measure) MinOverlap(n, k int) int {
	t := m.Threshold
	switch m.Similarity {
	case Jaccard: // o >= θ (n + k − o): equation (1) of Xiao et al., WWW 2008
		return ceilDiv(t.Num*(n+k), t.Num+t.Den)
	case Cosine: // o >= θ √(n k)
		return m.minCosineOverlap(n, k)
	case Dice: // 2 o >= θ (n + k)
		return ceilDiv(t.Num*(n+k), 2*t.Den)
	}
	return ceilDiv(t.Num, t.Den)
}

// minCosineOverlap begins at a root in floating point; what decides are integers.
func (m Measure) minCosineOverlap(n, k int) int {
	o := int(m.Threshold.Float() * math.Sqrt(float64(n)*float64(k)))
	for o > 0 && m.reachesCosine(o-1, n, k) {
		o--
	}
	for !m.reachesCosine(o, n, k) {
		o++
	}
	return o
}

// reachesCosine reports whether (o Den)² >= Num² n k, in 128 bits.
func (m Measure) reachesCosine(o, n, k int) bool {
	t := m.Threshold
	high, low := bits.Mul64(uint64(o*t.Den), uint64(o*t.Den))
	wantHigh, wantLow := bits.Mul64(uint64(t.Num*t.Num), uint64(n*k))
	return high > wantHigh || high == wantHigh && low >= wantLow
}

// Sizes are the least and the greatest size of a set that can be similar enough to one of n tokens. No set can where min is
// above max.
func (m Measure) Sizes(n int) (min, max int) {
	num, den := m.ratio()
	if m.Similarity == Overlap {
		if min = ceilDiv(num, den); n < min {
			return min, 0
		}
		return min, math.MaxInt
	}
	return ceilDiv(num*n, den), den * n / num
}

// ratio is the least ratio of two sizes, the smaller one contained in the larger: θ, θ² or θ/(2−θ). For Overlap it is
// the threshold.
func (m Measure) ratio() (num, den int) {
	t := m.Threshold
	switch m.Similarity {
	case Cosine:
		return t.Num * t.Num, t.Den * t.Den
	case Dice:
		return t.Num, 2*t.Den - t.Num
	}
	return t.Num, t.Den
}

// Prefix is how many of the first tokens of a set of n, in any order that is the same for all sets, hold one of every
// partner's first Prefix: n − o + 1 where the least overlap with any partner is o. 0: it has no partners.
func (m Measure) Prefix(n int) int {
	least, _ := m.Sizes(n)
	return prefix(n, least)
}

// IndexPrefix is Prefix where partners are asked for of n tokens or more alone, as in a join that goes through the sets
// by rising size (Lemma 3 of Xiao et al.): fewer of the smaller set's tokens need a place in an index.
func (m Measure) IndexPrefix(n int) int {
	if n == 0 {
		return 0
	}
	return prefix(n, m.MinOverlap(n, n))
}

func prefix(n, overlap int) int { return max(0, n-max(overlap, 1)+1) }

// Reaches says whether sets of n and k tokens with so many in common are similar enough. Those without are not.
func (m Measure) Reaches(common, n, k int) bool {
	t := m.Threshold
	switch {
	case common == 0:
		return false
	case m.Similarity == Jaccard:
		return common*t.Den >= t.Num*(n+k-common)
	case m.Similarity == Cosine:
		return m.reachesCosine(common, n, k)
	case m.Similarity == Dice:
		return 2*common*t.Den >= t.Num*(n+k)
	}
	return common*t.Den >= t.Num
}

// ReachesValue is Reaches of a similarity as Value gives it, for whoever has no more than an event: exact for sets of up to
// 256 tokens, as those of sentences are. Fractions of so small numbers are further from a threshold than rounding goes, unless
// they are equal to it. A cosine may be nearer, but its square is such a fraction again, and is what is compared.
func (m Measure) ReachesValue(value float64) bool {
	t := m.Threshold
	if m.Similarity == Cosine && value <= 1 {
		if num, den, ok := fraction(value * value); ok {
			return num*t.Den*t.Den >= t.Num*t.Num*den
		}
	}
	return value >= t.Float()
}

// fraction is the one that x was rounded from, if one of a denominator of up to 2¹⁶ is as near as that: a convergent of the
// continued fraction of x, since it is nearer than 1/(2 den²). Two of them are at least 2⁻³² apart.
func fraction(x float64) (num, den int, ok bool) {
	num, den = int(x), 1
	for before, rest := [2]int{1, 0}, x-float64(num); math.Abs(x-float64(num)/float64(den)) > 1e-12; {
		whole := int(1 / rest)
		rest = 1/rest - float64(whole)
		before, num, den = [2]int{num, den}, whole*num+before[0], whole*den+before[1]
		if den > 1<<16 {
			return 0, 0, false
		}
	}
	return num, den, true
}

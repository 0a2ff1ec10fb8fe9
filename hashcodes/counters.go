package hashcodes

import "math/bits"

// Counters are, by bit, how many tokens of a set have it in their codes: the set's signature as a counting Bloom filter. A
// query has them, rows do not, and with them it needs to look at fewer of the rows inside the radius.
//
// A token that x and y share has all its bits in both signatures. So what sets a bit of S(x) that S(y) lacks is in x \ y,
// all tokens that the counter counts, and each of those sets at most ones bits. Likewise for y, where a bit is set at
// least once:
//
//	Σ counter(b) over b in S(x) \ S(y)  <=  ones · |x \ y|
//	                    |S(y) \ S(x)|  <=  ones · |y \ x|
//
// Where x and y are similar enough the right sides are at most what SizeBounds.Apart says. They add up to Radius, the left ones to
// the Hamming distance or more: what passes lies within the radius, and much that lies there does not pass, the more
// the fuller signatures are.
type Counters []uint16

// Within reports whether the left sides are at most so many, for the counted set's signature x and another, y. It never
// says no of sets that are similar enough.
func (c Counters) Within(x, y Signature, onlyX, onlyY int) bool {
	for i, word := range x {
		for d := word &^ y[i]; d != 0; d &= d - 1 {
			onlyX -= int(c[32*i+bits.TrailingZeros32(d)])
		}
		onlyY -= bits.OnesCount32(y[i] &^ word)
	}
	return onlyX >= 0 && onlyY >= 0
}

// Count overwrites dst[:Bits()] with the counters of a set of tokens and returns it.
func (m *Model) Count(dst Counters, tokens []uint64) Counters {
	dst = dst[:m.about.Bits]
	clear(dst)
	code := make(Signature, m.words)
	for _, token := range tokens {
		for i, word := range m.Code(code, token) {
			for ; word != 0; word &= word - 1 {
				dst[32*i+bits.TrailingZeros32(word)]++
			}
		}
	}
	return dst
}

package hashcodes

import (
	"math/bits"
	"slices"
)

// Holders are, by bit, which tokens of a set have it in their codes. A query has them, rows do not, and with them it needs
// to look at fewer of the rows inside the radius.
//
// A token that x and y share has its whole code in both signatures. So a token of x whose code is not inside S(y) is not
// in y, whatever bits it has in common with others (containment). And a bit that S(x) lacks was set by tokens that y alone
// has, each of which sets at most ones bits. Hence, for any two sets and any codes,
//
//	|{w in x: code(w) not inside S(y)}|  <=         |x \ y|  =  n − |x ∩ y|
//	                   |S(y) \ S(x)|  <=  ones · |y \ x|  =  ones · (m − |x ∩ y|)
//
// Sets of n and m tokens that a measure takes for similar enough share at least o tokens, its MinOverlap, whichever measure
// it is: then the right sides are at most n − o and ones · (m − o), which is what SizeBounds.Apart says. More than that on
// the left: not similar enough.
//
// A code that is not inside S(y) has some bit that S(y) lacks, and a bit of S(x) that S(y) lacks is in some such code. So the
// first left side is the size of the union of the holders of S(x) \ S(y): a token counts once, however many of its bits
// are missing. Each of these tokens has at most ones of those bits, so what passes lies within the radius: |S(x) \ S(y)| is
// at most ones · (n − o), and the two bounds on bits add up to Radius. The fuller signatures are, the more of what lies
// there does not pass.
//
// Of some bits of y alone (those that a posting holds, see sigstore/prefix) all this is true as well: then fewer codes are
// seen to be outside.
type Holders struct {
	words int      // of 64 tokens each, that a bit has
	of    []uint64 // words for each bit, one bit after the other
}

// NewHolders are those of no token, for signatures of so many bits, with room for sets of 64 tokens.
func NewHolders(bits int) *Holders { return &Holders{words: 1, of: make([]uint64, bits)} }

// Reset makes them those of n tokens without a code. n is at most MaxSize.
func (h *Holders) Reset(n int) {
	size := len(h.of) / h.words
	h.words = max(1, (n+63)/64)
	h.of = slices.Grow(h.of[:0], size*h.words)[:size*h.words]
	clear(h.of)
}

// Add adds a bit to the code of a token, which is 0 to n−1.
func (h *Holders) Add(token, bit int) { h.of[bit*h.words+token/64] |= 1 << (token % 64) }

// Words is the number of words, of 64 tokens each, that AppendOf appends for each bit.
func (h *Holders) Words() int { return h.words }

// AppendOf appends those of the bits of x, the signature of the set, in their order.
func (h *Holders) AppendOf(dst []uint64, x Signature) []uint64 {
	for i, word := range x {
		for ; word != 0; word &= word - 1 {
			bit := 32*i + bits.TrailingZeros32(word)
			dst = append(dst, h.of[bit*h.words:(bit+1)*h.words]...)
		}
	}
	return dst
}

// Within reports whether at most so many codes of the set, whose signature is x, are not inside another signature y, and y
// has at most so many bits that x lacks. It never says no of sets that are similar enough.
func (h *Holders) Within(x, y Signature, tokens, further int) bool {
	for i, word := range y {
		further -= bits.OnesCount32(word &^ x[i])
	}
	return further >= 0 && h.outside(x, y) <= tokens
}

// outside counts the tokens whose codes are not inside y.
func (h *Holders) outside(x, y Signature) (n int) {
	if h.words == 1 {
		return h.outsideFew(x, y)
	}
	var outside [MaxSize / 64]uint64
	for i, word := range x {
		for d := word &^ y[i]; d != 0; d &= d - 1 {
			bit := 32*i + bits.TrailingZeros32(d)
			for w, tokens := range h.of[bit*h.words : (bit+1)*h.words] {
				outside[w] |= tokens
			}
		}
	}
	for _, tokens := range outside {
		n += bits.OnesCount64(tokens)
	}
	return n
}

// outsideFew is outside of up to 64 tokens, as nearly all sets have.
func (h *Holders) outsideFew(x, y Signature) int {
	outside := uint64(0)
	for i, word := range x {
		for d := word &^ y[i]; d != 0; d &= d - 1 {
			outside |= h.of[32*i+bits.TrailingZeros32(d)]
		}
	}
	return bits.OnesCount64(outside)
}

// Hold overwrites dst with the holders of a set of tokens and returns it.
func (m *Model) Hold(dst *Holders, tokens []uint64) *Holders {
	dst.Reset(len(tokens))
	code := make(Signature, m.words)
	for t, token := range tokens {
		for _, bit := range m.Code(code, token).positions() {
			dst.Add(t, int(bit))
		}
	}
	return dst
}

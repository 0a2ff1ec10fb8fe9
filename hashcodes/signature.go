package hashcodes

import "math/bits"

// Signature is the OR of the codes of some tokens. Bit p of it is bit p%32 of word p/32; a signature of m bits has
// ceil(m/32) words.
type Signature []uint32

// Distance counts the bits in which a and b differ. Both come from one model, so their lengths are equal.
func Distance(a, b Signature) int {
	d := 0
	for i, w := range a {
		d += bits.OnesCount32(w ^ b[i])
	}
	return d
}

func (s Signature) set(position uint8) { s[position/32] |= 1 << (position % 32) }

// positions lists the ones of s, ascending.
func (s Signature) positions() []uint8 {
	var list []uint8
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			list = append(list, uint8(32*i+bits.TrailingZeros32(w)))
		}
	}
	return list
}

package join

import (
	"math/bits"

	"refrain/hashcodes"
)

// signatures are those of all rows, of so many words of 64 bits each.
type signatures struct {
	words, ones int
	of          []uint64
}

// newSignatures makes them of a model's codes, or where there is none of one bit a token: of its rank, so that neighbours in the
// order of frequency have bits of their own, and frequent tokens are told apart.
func newSignatures(s *sets, words int, model *hashcodes.Model) *signatures {
	g := &signatures{words: words, ones: 1}
	if model != nil {
		g.words, g.ones = (model.Words()+1)/2, model.Ones()
	}
	g.of = make([]uint64, int(s.len())*g.words)
	if model != nil {
		g.sign(s, codesOf(s, model))
		return g
	}
	mask := uint32(g.words - 1)
	for r := range s.len() {
		if g.words == 1 {
			g.of[r] = oneWord(s.row(r))
			continue
		}
		dst := g.row(r)
		for _, rank := range s.row(r) {
			dst[rank/64&mask] |= 1 << (rank % 64)
		}
	}
	return g
}

// oneWord is a signature of 64 bits.
func oneWord(ranks []uint32) (word uint64) {
	for _, rank := range ranks {
		word |= 1 << (rank % 64)
	}
	return word
}

func (g *signatures) sign(s *sets, codes []uint64) {
	for r := range s.len() {
		dst := g.row(r)
		for _, rank := range s.row(r) {
			for i, w := range codes[int(rank)*g.words : int(rank+1)*g.words] {
				dst[i] |= w
			}
		}
	}
}

func (g *signatures) row(r uint32) []uint64 { return g.of[int(r)*g.words : int(r+1)*g.words] }

// codesOf are the codes of all tokens by rank.
func codesOf(s *sets, model *hashcodes.Model) []uint64 {
	words := (model.Words() + 1) / 2
	codes, code := make([]uint64, len(s.ids)*words), make(hashcodes.Signature, model.Words())
	for rank, n := range s.numbers {
		for i, w := range model.Code(code, s.ids[n]) {
			codes[rank*words+i/2] |= uint64(w) << (i % 2 * 32)
		}
	}
	return codes
}

// distance is hashcodes.Distance, or something above limit.
func distance(x, y []uint64, limit int) int {
	d := 0
	for i, w := range x {
		if d += bits.OnesCount64(w ^ y[i]); d > limit {
			break
		}
	}
	return d
}

// within reports whether of each signature so few bits are missing in the other one that as few tokens can set them: those that
// x alone has, and those that y alone has. It is what hashcodes.Holders says where a code has one bit and each bit one token.
func (g *signatures) within(x, y uint32, ofX, ofY int) bool {
	ofX, ofY = ofX*g.ones, ofY*g.ones
	other := g.row(y)
	for i, word := range g.row(x) {
		ofX -= bits.OnesCount64(word &^ other[i])
		ofY -= bits.OnesCount64(other[i] &^ word)
		if ofX < 0 || ofY < 0 {
			return false
		}
	}
	return true
}

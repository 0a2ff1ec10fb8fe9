package join

import (
	"refrain/hashcodes"
)

// signatures are those of all rows, words of 32 bits each.
type signatures struct {
	words, ones int
	of          []uint32
}

// newSignatures makes them of a model's codes, or of one bit a token where there is none.
func newSignatures(s *sets, model *hashcodes.Model) *signatures {
	g := &signatures{words: wordsFor(s), ones: 1}
	code := func(dst hashcodes.Signature, rank uint32) { dst[rank/32%uint32(g.words)] |= 1 << (rank % 32) }
	if model != nil {
		g.words, g.ones = model.Words(), model.Ones()
		codes := codesOf(s, model)
		code = func(dst hashcodes.Signature, rank uint32) {
			for i, w := range codes[int(rank)*g.words : int(rank+1)*g.words] {
				dst[i] |= w
			}
		}
	}
	g.of = make([]uint32, int(s.len())*g.words)
	for r := range s.len() {
		dst := g.row(r)
		for _, token := range s.row(r) {
			code(dst, token)
		}
	}
	return g
}

func (g *signatures) row(r uint32) hashcodes.Signature {
	return g.of[int(r)*g.words : int(r+1)*g.words]
}

// wordsFor takes as many bits as leave about half of them unset in sets of the mean size: neighbours in the order of frequency
// have bits of their own, so that those which are frequent are told apart.
func wordsFor(s *sets) int {
	mean := len(s.tokens) / max(1, int(s.len()))
	words := 2
	for words < maxWords && 32*words < mean*3 {
		words *= 2
	}
	return words
}

// maxWords bounds a signature: 256 bits.
const maxWords = 8

// codesOf are the codes of all tokens by rank.
func codesOf(s *sets, model *hashcodes.Model) []uint32 {
	codes := make([]uint32, len(s.ids)*model.Words())
	for rank, id := range s.ids {
		model.Code(codes[rank*model.Words():(rank+1)*model.Words()], id)
	}
	return codes
}

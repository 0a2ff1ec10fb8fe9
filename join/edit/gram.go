package edit

import "slices"

// grams makes the tokens of strings. It belongs to one goroutine.
type grams struct {
	*tokens
	runes  []rune
	hashes []uint64
	keys   []uint64
}

// tokens are grams as numbers of so many bits: those of their hashes. That two grams get one number can only make
// strings meet that need not.
type tokens struct {
	q, bits int
	counts  []uint32 // by token: how often it was seen; the rarest come first, and any order is right
}

func newTokens(q, bits int) *tokens { return &tokens{q, bits, make([]uint32, 1<<bits)} }

// base is that of the polynomials which hash grams, odd and with many ones.
const base = 0x9e3779b97f4a7c15

// of returns the numbered grams of a string as tokens, until the next call.
func (g *grams) of(s string) []uint64 {
	g.runes = appendRunes(g.runes[:0], s)
	g.hashes = appendHashes(g.hashes[:0], g.runes, g.q)
	slices.Sort(g.hashes)
	before, times := uint64(0), uint64(0)
	for i, h := range g.hashes {
		if times++; i == 0 || h != before {
			before, times = h, 0
		}
		g.hashes[i] = mix(h+times*base) >> (64 - g.bits)
	}
	return g.hashes
}

// appendHashes appends the hash of every gram, in the order of the string: Σ r base^i over its characters, rolled on.
func appendHashes(dst []uint64, s []rune, q int) []uint64 {
	if len(s) < q {
		return dst
	}
	sum, power := uint64(0), uint64(1)
	for _, r := range s[:q] {
		sum, power = sum*base+uint64(r), power*base
	}
	dst = append(dst, mix(sum))
	for i, r := range s[q:] {
		sum = sum*base + uint64(r) - uint64(s[i])*power
		dst = append(dst, mix(sum))
	}
	return dst
}

// count adds the grams of a string to the counts.
func (g *grams) count(s string) {
	for _, token := range g.of(s) {
		g.counts[token]++
	}
}

// prefix fills dst with the first tokens of a string, the rarest; the string has as many.
func (g *grams) prefix(dst []uint32, s string) {
	g.keys = g.keys[:0]
	for _, token := range g.of(s) {
		g.keys = append(g.keys, uint64(g.counts[token])<<32|token)
	}
	slices.Sort(g.keys)
	for i := range dst {
		dst[i] = uint32(g.keys[i])
	}
}

package train

import (
	"math/bits"

	"refrain/hashcodes"
)

// state is the learning sets with the codes as they are at the moment.
//
// Sets are rows of the table, tokens of the vocabulary are numbers, the most frequent 0. A code or a signature is
// words uint64 side by side.
type state struct {
	tab     *table
	vocab   []word
	bits    int
	words   int
	codes   []uint64 // by number
	rest    []uint64 // by row: what tokens outside the vocabulary set
	sigs    []uint64 // by row
	tokens  lists    // row -> numbers of its tokens
	holders lists    // number -> rows that hold the token

	counts      []uint32  // by row: the sentences that have it; nil: one each
	frequencies []float64 // by number: the sentences that hold the token; see weigh
}

// lists are slices side by side.
type lists struct {
	starts []uint32
	items  []uint32
}

func (l *lists) at(i int) []uint32 { return l.items[l.starts[i]:l.starts[i+1]] }

// newState returns the state of the sets in which every token has its hashed code of ones bits.
func newState(sets [][]uint64, vocab []word, m *hashcodes.Model) *state {
	s := &state{tab: newTable(sets, m.Words()), vocab: vocab, bits: m.Bits(), words: (m.Bits() + 63) / 64}
	s.codes = make([]uint64, len(vocab)*s.words)
	s.number(m)
	s.invert()
	s.sigs = make([]uint64, len(s.rest))
	s.load(m)
	return s
}

// load takes the codes of the vocabulary from a model, whose hashed codes have as many ones as those of the first.
func (s *state) load(m *hashcodes.Model) {
	clear(s.codes)
	code := make(hashcodes.Signature, m.Words())
	for i, w := range s.vocab {
		or(s.code(i), m.Code(code, w.token))
	}
	for row := range s.tab.sets {
		s.sign(row)
	}
	s.publish()
}

// number fills tokens and rest.
func (s *state) number(m *hashcodes.Model) {
	numbers := make(map[uint64]uint32, len(s.vocab))
	for i, w := range s.vocab {
		numbers[w.token] = uint32(i)
	}
	s.rest = make([]uint64, len(s.tab.sets)*s.words)
	s.tokens.starts = append(s.tokens.starts, 0)
	code := make(hashcodes.Signature, m.Words())
	for row, set := range s.tab.sets {
		for _, token := range set {
			if n, ok := numbers[token]; ok {
				s.tokens.items = append(s.tokens.items, n)
			} else {
				or(s.rest[row*s.words:], m.Code(code, token))
			}
		}
		s.tokens.starts = append(s.tokens.starts, uint32(len(s.tokens.items)))
	}
}

// invert fills holders.
func (s *state) invert() {
	starts := make([]uint32, len(s.vocab)+2)
	for _, n := range s.tokens.items {
		starts[n+2]++
	}
	for i := 2; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	s.holders.items = make([]uint32, len(s.tokens.items))
	for row := range s.tab.sets {
		for _, n := range s.tokens.at(row) {
			s.holders.items[starts[n+1]] = uint32(row)
			starts[n+1]++
		}
	}
	s.holders.starts = starts[:len(s.vocab)+1]
}

func or(dst []uint64, sig hashcodes.Signature) {
	for w, word := range sig {
		dst[w/2] |= uint64(word) << (32 * (w % 2))
	}
}

func (s *state) code(number int) []uint64 { return s.codes[number*s.words : (number+1)*s.words] }

func (s *state) sig(row int) []uint64 { return s.sigs[row*s.words : (row+1)*s.words] }

func (s *state) sign(row int) { s.without(s.sig(row), row, -1) }

// without overwrites dst with the signature that a row has without one of its tokens; -1: with all.
func (s *state) without(dst []uint64, row, number int) {
	if s.words == 1 {
		sig := s.rest[row]
		for _, n := range s.tokens.at(row) {
			if int(n) != number {
				sig |= s.codes[n]
			}
		}
		dst[0] = sig
		return
	}
	copy(dst, s.rest[row*s.words:(row+1)*s.words])
	for _, n := range s.tokens.at(row) {
		if int(n) == number {
			continue
		}
		for w, c := range s.code(int(n)) {
			dst[w] |= c
		}
	}
}

func distance(a, b []uint64) int {
	d := 0
	for w := range a {
		d += bits.OnesCount64(a[w] ^ b[w])
	}
	return d
}

// publish copies the signatures to the planes of the table.
func (s *state) publish() {
	for row := range s.tab.sets {
		for w := range s.tab.planes {
			s.tab.planes[w][row] = uint32(s.sigs[row*s.words+w/2] >> (32 * (w % 2)))
		}
	}
}

// entries are the codes for a model.
func (s *state) entries() []hashcodes.Entry {
	entries := make([]hashcodes.Entry, len(s.vocab))
	for i, w := range s.vocab {
		entries[i] = hashcodes.Entry{Token: w.token, Frequency: w.frequency, Positions: positions(s.code(i))}
	}
	return entries
}

func positions(code []uint64) []uint8 {
	var list []uint8
	for w, c := range code {
		for ; c != 0; c &= c - 1 {
			list = append(list, uint8(64*w+bits.TrailingZeros64(c)))
		}
	}
	return list
}

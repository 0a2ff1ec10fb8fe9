package hashcodes

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"refrain/text"
)

// Entry is one token of a model's vocabulary.
type Entry struct {
	Token     uint64
	Frequency uint32  // sentences of the training text that hold the token
	Hashed    bool    // the code is the hashed one, as for tokens outside the vocabulary; Positions is empty
	Positions []uint8 // the ones of the code, ascending; at most Description.Ones, perhaps none
}

// Model maps tokens to codes. It never changes, so goroutines may share it.
//
// A token of the vocabulary has the code that was learned for it; every other token has a hashed one. Radius holds
// for any codes of at most Ones ones, so a model decides only how many candidates a search has to look at, never
// what it finds. That is true also of a model whose TextVersion differs from text.Version, but its words have other ids
// now: CheckVersion says so.
type Model struct {
	about      Description
	words      int
	vocabulary []token           // by id, ascending
	rows       map[uint64]uint32 // token id -> place in the vocabulary
	maybe      []uint64          // a bit for each token, by its id: nearly all tokens outside the vocabulary have none
	codes      []uint32          // the words of every code, in the order of the vocabulary
}

// token is what a model keeps of an Entry, apart from the code.
type token struct {
	id        uint64
	frequency uint32
	hashed    bool
}

// DefaultBits and DefaultOnes are the size of hashed codes where no configuration says another.
const (
	DefaultBits = 64
	DefaultOnes = 1
)

// CheckVersion is an error if m's words are those of another version of the normalisation: none of them would be found.
func (m *Model) CheckVersion() error {
	if v := m.about.TextVersion; v != text.Version {
		return fmt.Errorf("its words have the ids of text version %d, and this program's are of version %d: train it "+
			"again, with `refrain train`", v, text.Version)
	}
	return nil
}

// NewMD5 returns the model that hashes every token: ones of bits bits, drawn as described at hashedPositions.
func NewMD5(bits, ones int) (*Model, error) {
	return New(Description{Bits: bits, Ones: ones, Learner: "md5", TextVersion: text.Version}, nil)
}

// New returns the model of a vocabulary. Entries may come in any order, each token once; they are copied.
func New(about Description, entries []Entry) (*Model, error) {
	err := about.validate()
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Token, b.Token) })
	m := newModel(about)
	for _, e := range entries {
		err := m.add(e)
		if err != nil {
			return nil, fmt.Errorf("model: token %#x: %w", e.Token, err)
		}
	}
	return m, nil
}

func newModel(about Description) *Model {
	return &Model{about: about, words: about.Bits / 32, rows: map[uint64]uint32{}, maybe: make([]uint64, maybeBits/64)}
}

// maybeBits is the length of maybe in bits: 8 KiB, which stay in the processor's cache. Ids are hashes, so any bits of
// them do.
const maybeBits = 1 << 16

func maybeBit(token uint64) (word int, bit uint64) {
	i := token >> 48
	return int(i / 64), 1 << (i % 64)
}

// add appends an entry whose token is greater than all before.
func (m *Model) add(e Entry) error {
	if n := len(m.vocabulary); n > 0 && m.vocabulary[n-1].id >= e.Token {
		return errors.New("token appears twice")
	}
	if e.Hashed && len(e.Positions) > 0 {
		return errors.New("hashed code with positions of its own")
	}
	err := m.checkPositions(e.Positions)
	if err != nil {
		return err
	}
	code := make(Signature, m.words)
	if e.Hashed {
		m.orHashed(code, e.Token)
	}
	for _, p := range e.Positions {
		code.set(p)
	}
	m.rows[e.Token] = uint32(len(m.vocabulary))
	word, bit := maybeBit(e.Token)
	m.maybe[word] |= bit
	m.vocabulary = append(m.vocabulary, token{e.Token, e.Frequency, e.Hashed})
	m.codes = append(m.codes, code...)
	return nil
}

func (m *Model) checkPositions(positions []uint8) error {
	if len(positions) > m.about.Ones {
		return fmt.Errorf("code with %d ones: want at most %d", len(positions), m.about.Ones)
	}
	for i, p := range positions {
		if int(p) >= m.about.Bits {
			return fmt.Errorf("position %d in a code of %d bits", p, m.about.Bits)
		}
		if i > 0 && positions[i-1] >= p {
			return fmt.Errorf("position %d after %d: want ascending positions", p, positions[i-1])
		}
	}
	return nil
}

// Bits is m, the length of a signature in bits.
func (m *Model) Bits() int { return m.about.Bits }

// Ones is l, the greatest number of ones in a code.
func (m *Model) Ones() int { return m.about.Ones }

// Words is the length of a signature in words of 32 bits.
func (m *Model) Words() int { return m.words }

// Name says what the codes are, for people: learner, bits and ones, as in "md5-64-1".
func (m *Model) Name() string {
	return fmt.Sprintf("%s-%d-%d", m.about.Learner, m.about.Bits, m.about.Ones)
}

// Description returns what the model says about itself.
func (m *Model) Description() Description { return m.about }

// Len is the number of tokens in the vocabulary.
func (m *Model) Len() int { return len(m.vocabulary) }

// Entries yields the vocabulary by token, ascending.
func (m *Model) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for row, t := range m.vocabulary {
			e := Entry{Token: t.id, Frequency: t.frequency, Hashed: t.hashed}
			if !t.hashed {
				e.Positions = m.code(row).positions()
			}
			if !yield(e) {
				return
			}
		}
	}
}

// code is the code of an entry of the vocabulary, in place.
func (m *Model) code(row int) Signature { return m.codes[row*m.words : (row+1)*m.words] }

// Frequency is the number of training sentences that hold the token; 0 outside the vocabulary.
func (m *Model) Frequency(token uint64) uint32 {
	row, ok := m.rows[token]
	if !ok {
		return 0
	}
	return m.vocabulary[row].frequency
}

// Code overwrites dst[:Words()] with the code of a token and returns it. It does not allocate.
func (m *Model) Code(dst Signature, token uint64) Signature {
	dst = dst[:m.words]
	clear(dst)
	m.or(dst, token)
	return dst
}

// Sign overwrites dst[:Words()] with the OR of the codes of the tokens and returns it. It does not allocate.
// A hashed code costs one MD5, some 100 ns: a caller that sees a token again and again keeps its code.
func (m *Model) Sign(dst Signature, tokens []uint64) Signature {
	dst = dst[:m.words]
	clear(dst)
	for _, token := range tokens {
		m.or(dst, token)
	}
	return dst
}

// or adds the code of a token to dst.
func (m *Model) or(dst Signature, token uint64) {
	word, bit := maybeBit(token)
	if m.maybe[word]&bit == 0 {
		m.orHashed(dst, token)
		return
	}
	row, ok := m.rows[token]
	if !ok {
		m.orHashed(dst, token)
		return
	}
	for i, w := range m.code(int(row)) {
		dst[i] |= w
	}
}

func (m *Model) orHashed(dst Signature, token uint64) {
	var buf [MaxOnes]uint8
	for _, p := range hashedPositions(buf[:0], token, m.about.Bits, m.about.Ones) {
		dst.set(p)
	}
}

package hashcodes

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"refrain/text"
)

// Limits of a model. The lengths bound what a reader accepts from a file.
const (
	MaxOnes    = 8
	maxLearner = 64
	maxTrained = 1 << 20
)

// Description is what a model says about itself.
type Description struct {
	Bits        int    // m: bits of a signature; 32, 64, 128 or 256
	Ones        int    // l: ones of a code; 1 to MaxOnes
	Learner     string // how the codes came about, e.g. "md5"; 1 to 64 bytes
	Seed        uint64 // of the learner's random choices
	TrainedOn   string // a JSON value that says what the codes were learned from; "" for nothing
	TextVersion int    // text.Version of the token ids
}

// Entry is one token of a model's vocabulary.
type Entry struct {
	Token     uint64
	Frequency uint32  // sentences of the training text that hold the token
	Hashed    bool    // the code is the hashed one, as for tokens outside the vocabulary
	Positions []uint8 // otherwise the ones of the code, ascending; at most Description.Ones, perhaps none
}

// Model maps tokens to codes. It never changes, so goroutines may share it.
//
// A token of the vocabulary has the code that was learned for it; every other token has a hashed one. Radius holds
// for any codes of at most Ones ones, so a model decides only how many candidates a search has to look at, never
// what it finds. That is true also of a model whose TextVersion differs from text.Version: its vocabulary is met
// less often, and that is all.
type Model struct {
	about   Description
	words   int
	rows    map[uint64]int // token -> place in the slices
	entries []Entry        // by token, ascending
	codes   []uint32       // words of every entry, one entry after the other
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
	slices.SortFunc(entries, compareTokens)
	m := newModel(about)
	for _, e := range entries {
		e.Positions = slices.Clone(e.Positions)
		err := m.add(e)
		if err != nil {
			return nil, fmt.Errorf("model: token %#x: %w", e.Token, err)
		}
	}
	return m, nil
}

func compareTokens(a, b Entry) int {
	if a.Token < b.Token {
		return -1
	}
	if a.Token > b.Token {
		return 1
	}
	return 0
}

func newModel(about Description) *Model {
	return &Model{about: about, words: about.Bits / 32, rows: map[uint64]int{}}
}

// validate reports everything that is wrong with d.
func (d *Description) validate() error {
	var errs []error
	if !slices.Contains([]int{32, 64, 128, 256}, d.Bits) {
		errs = append(errs, fmt.Errorf("%d bits: want 32, 64, 128 or 256", d.Bits))
	}
	if d.Ones < 1 || d.Ones > MaxOnes {
		errs = append(errs, fmt.Errorf("%d ones per code: want 1 to %d", d.Ones, MaxOnes))
	}
	if len(d.Learner) < 1 || len(d.Learner) > maxLearner {
		errs = append(errs, fmt.Errorf("learner's name of %d bytes: want 1 to %d", len(d.Learner), maxLearner))
	}
	if len(d.TrainedOn) > maxTrained {
		errs = append(errs, fmt.Errorf("training description of %d bytes: want at most %d", len(d.TrainedOn), maxTrained))
	} else if d.TrainedOn != "" && !json.Valid([]byte(d.TrainedOn)) {
		errs = append(errs, errors.New("training description: not JSON"))
	}
	if d.TextVersion < 0 {
		errs = append(errs, fmt.Errorf("text version %d: want at least 0", d.TextVersion))
	}
	return errors.Join(errs...)
}

// add appends an entry whose token is greater than all before, and keeps its positions.
func (m *Model) add(e Entry) error {
	if n := len(m.entries); n > 0 && m.entries[n-1].Token >= e.Token {
		return errors.New("token appears twice")
	}
	if e.Hashed {
		e.Positions = hashedPositions(nil, e.Token, m.about.Bits, m.about.Ones)
	} else if err := m.checkPositions(e.Positions); err != nil {
		return err
	}
	m.rows[e.Token] = len(m.entries)
	m.codes = append(m.codes, make([]uint32, m.words)...)
	code := Signature(m.codes[len(m.codes)-m.words:])
	for _, p := range e.Positions {
		code.set(p)
	}
	m.entries = append(m.entries, e)
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
func (m *Model) Len() int { return len(m.entries) }

// Entries yields the vocabulary by token, ascending. The positions belong to the model; of a hashed code they are
// the positions that the hash gives.
func (m *Model) Entries() iter.Seq[Entry] { return slices.Values(m.entries) }

// Frequency is the number of training sentences that hold the token; 0 outside the vocabulary.
func (m *Model) Frequency(token uint64) uint32 {
	row, ok := m.rows[token]
	if !ok {
		return 0
	}
	return m.entries[row].Frequency
}

// Code overwrites dst[:Words()] with the code of a token and returns it. It does not allocate.
func (m *Model) Code(dst Signature, token uint64) Signature {
	dst = dst[:m.words]
	clear(dst)
	m.or(dst, token)
	return dst
}

// Sign overwrites dst[:Words()] with the OR of the codes of the tokens and returns it. It does not allocate.
// A hashed code costs one MD5, some 100 ns: a caller that meets a token again and again keeps its code.
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
	row, ok := m.rows[token]
	if !ok {
		m.orHashed(dst, token)
		return
	}
	for i, w := range m.codes[row*m.words : (row+1)*m.words] {
		dst[i] |= w
	}
}

func (m *Model) orHashed(dst Signature, token uint64) {
	var buf [MaxOnes]uint8
	for _, p := range hashedPositions(buf[:0], token, m.about.Bits, m.about.Ones) {
		dst.set(p)
	}
}

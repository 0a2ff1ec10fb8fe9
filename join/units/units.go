// Package units makes the sets of tokens that a join compares from texts: of their words, characters, q-grams, shingles or
// samples of shingles.
//
// Texts are normalised as everywhere (package text): words in small letters, without punctuation, URLs and emoji.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package units

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"refrain/text"
)

// Unit says what the tokens of a text are.
type Unit struct {
	kind   kind
	length int // of a q-gram in characters, of a shingle in words
	sample int // of min-wise samples: shingles, at most
}

type kind uint8

const (
	words kind = iota
	characters
	qgrams
	shingles
	minwise
)

// Words is the usual unit.
var Words = Unit{kind: words}

// maxLength and maxSample bound what a unit may be: more is a mistake.
const (
	maxLength = 256
	maxSample = 4096
)

const want = "want words, chars, qgrams:Q, shingles:W or minwise:W,K, as in qgrams:3 or minwise:4,32"

// Parse reads words, chars, qgrams:Q, shingles:W or minwise:W,K.
func Parse(s string) (Unit, error) {
	name, arguments, _ := strings.Cut(s, ":")
	k, ok := map[string]kind{"words": words, "chars": characters, "qgrams": qgrams, "shingles": shingles, "minwise": minwise}[name]
	if !ok {
		return Unit{}, fmt.Errorf("units %q: %s", s, want)
	}
	u := Unit{kind: k}
	bounds := [][]bound{words: nil, characters: nil, qgrams: {{&u.length, maxLength}}, shingles: {{&u.length, maxLength}},
		minwise: {{&u.length, maxLength}, {&u.sample, maxSample}}}[k]
	if err := fill(bounds, arguments); err != nil {
		return Unit{}, fmt.Errorf("units %q: %w", s, err)
	}
	return u, nil
}

type bound struct {
	to  *int
	max int
}

func fill(bounds []bound, arguments string) error {
	var given []string
	if arguments != "" {
		given = strings.Split(arguments, ",")
	}
	if len(given) != len(bounds) {
		return fmt.Errorf("%s", want)
	}
	for i, b := range bounds {
		n, err := strconv.Atoi(given[i])
		if err != nil || n < 1 || n > b.max {
			return fmt.Errorf("%q: want a number from 1 to %d", given[i], b.max)
		}
		*b.to = n
	}
	return nil
}

// String is what Parse reads.
func (u Unit) String() string {
	switch u.kind {
	case characters:
		return "chars"
	case qgrams:
		return fmt.Sprintf("qgrams:%d", u.length)
	case shingles:
		return fmt.Sprintf("shingles:%d", u.length)
	case minwise:
		return fmt.Sprintf("minwise:%d,%d", u.length, u.sample)
	}
	return "words"
}

// Cutter makes tokens of texts. It keeps its buffers from call to call, so one belongs to one goroutine.
type Cutter struct {
	unit     Unit
	splitter text.Splitter
	words    []uint64
	bytes    []byte
	factors  []uint64
	tokens   int // of the text with the most
}

// NewCutter returns a cutter for a unit.
func NewCutter(u Unit) *Cutter {
	c := &Cutter{unit: u}
	for i := range u.sample {
		c.factors = append(c.factors, xxh3.HashSeed(nil, uint64(i)+1)|1)
	}
	return c
}

// Bytes is about how much memory the cutter holds for texts as large as those that it was given.
func (c *Cutter) Bytes() int64 {
	const perToken = 72 // what splitting takes
	return int64(8*cap(c.words) + cap(c.bytes) + perToken*c.tokens)
}

// Append appends the ids of a text's tokens, in order, repeats kept. A text without a word or a character has none. One that is
// shorter than a q-gram or a shingle is one as a whole.
func (c *Cutter) Append(dst []uint64, s string) []uint64 {
	dst = c.append(dst, s)
	c.tokens = max(c.tokens, c.splitter.Tokens())
	return dst
}

func (c *Cutter) append(dst []uint64, s string) []uint64 {
	switch c.unit.kind {
	case characters:
		return c.appendCharacters(dst, s)
	case qgrams:
		return c.appendQGrams(dst, s)
	case shingles:
		return c.appendShingles(dst, s)
	case minwise:
		return c.appendSample(dst, s)
	}
	return c.splitter.AppendIDs(dst, s)
}

func (c *Cutter) appendCharacters(dst []uint64, s string) []uint64 {
	sentences, _ := c.splitter.Split(s)
	for _, sentence := range sentences {
		for _, token := range sentence.Tokens {
			for _, r := range token.Text {
				dst = append(dst, text.ID(string(r)))
			}
		}
	}
	return dst
}

// appendQGrams cuts the words as they stand in the text, one space wherever anything is between two of them.
func (c *Cutter) appendQGrams(dst []uint64, s string) []uint64 {
	if c.normalise(s); len(c.bytes) == 0 {
		return dst
	}
	dst = slices.Grow(dst, max(1, utf8.RuneCount(c.bytes)-c.unit.length+1))
	from, to := 0, c.after(0, c.unit.length)
	dst = append(dst, text.ID(string(c.bytes[:to])))
	for to < len(c.bytes) {
		from, to = c.after(from, 1), c.after(to, 1)
		dst = append(dst, text.ID(string(c.bytes[from:to])))
	}
	return dst
}

// after is the place so many characters behind another one, or the end.
func (c *Cutter) after(at, characters int) int {
	for ; characters > 0 && at < len(c.bytes); characters-- {
		_, size := utf8.DecodeRune(c.bytes[at:])
		at += size
	}
	return at
}

// normalise fills bytes.
func (c *Cutter) normalise(s string) {
	c.bytes = c.bytes[:0]
	sentences, _ := c.splitter.Split(s)
	end := -1
	for _, sentence := range sentences {
		for _, token := range sentence.Tokens {
			if end >= 0 && token.Start > end {
				c.bytes = append(c.bytes, ' ')
			}
			c.bytes = append(c.bytes, token.Text...)
			end = token.End
		}
	}
}

func (c *Cutter) appendShingles(dst []uint64, s string) []uint64 {
	c.words = c.splitter.AppendIDs(c.words[:0], s)
	if len(c.words) == 0 {
		return dst
	}
	for i := range max(1, len(c.words)-c.unit.length+1) {
		c.bytes = c.bytes[:0]
		for _, id := range c.words[i:min(i+c.unit.length, len(c.words))] {
			c.bytes = binary.LittleEndian.AppendUint64(c.bytes, id)
		}
		dst = append(dst, xxh3.Hash(c.bytes))
	}
	return dst
}

// appendSample draws shingles as Broder's min-wise independent permutations do: of each of so many random orders the first one.
// So a shingle that two texts share is drawn from both with a probability that is their resemblance.
func (c *Cutter) appendSample(dst []uint64, s string) []uint64 {
	from := len(dst)
	dst = c.appendShingles(dst, s)
	all := append(c.words[:0], dst[from:]...)
	c.words, dst = all, dst[:from]
	if len(all) == 0 {
		return dst
	}
	for _, factor := range c.factors {
		dst = append(dst, first(all, factor))
	}
	return dst
}

// first is the token that an order of all tokens has first.
func first(tokens []uint64, factor uint64) (token uint64) {
	least := ^uint64(0)
	for _, id := range tokens {
		h := (id ^ factor>>7) * factor
		if h = (h ^ h>>32) * factor; h <= least {
			least, token = h, id
		}
	}
	return token
}

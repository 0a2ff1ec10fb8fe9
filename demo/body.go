package demo

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// body is the content of a post: every line is one sentence.
type body struct {
	language *language
	before   string // repost prefix
	lines    []line
}

// line is a sentence.
type line struct {
	open  string // quotation mark, on a new line, if any
	words []string
	end   string // punctuation after the words
}

func (b body) text() string {
	var s strings.Builder
	s.WriteString(b.before)
	for i, l := range b.lines {
		if i > 0 && l.open == "" {
			s.WriteString(b.language.joiner)
		}
		s.WriteString(l.open + strings.Join(l.words, b.language.joiner) + l.end)
	}
	return s.String()
}

// clone returns a copy whose lines and words may be changed, without the repost prefix.
func (b body) clone() body {
	c := body{language: b.language, lines: slices.Clone(b.lines)}
	for i := range c.lines {
		c.lines[i].words = slices.Clone(c.lines[i].words)
	}
	return c
}

// tag adds a hashtag to the last sentence.
func (b *body) tag(rng *rand.Rand) {
	last := &b.lines[len(b.lines)-1]
	tag := "#" + strings.ReplaceAll(b.language.expand(rng, "{tag}"), " ", "")
	if b.language.joiner == "" {
		tag = " " + tag
	}
	last.words = append(last.words, tag)
}

// replace puts another word in a place; at the beginning of a sentence it gets a capital, for without one it
// would go on the sentence before.
func (b *body) replace(l, w int, word string) {
	if w == 0 {
		word = capital(word)
	}
	b.lines[l].words[w] = word
}

// someWord returns a random place of a word with letters.
func (b *body) someWord(rng *rand.Rand) (l, w int) {
	for {
		l = rng.IntN(len(b.lines))
		w = rng.IntN(len(b.lines[l].words))
		if isWord(b.lines[l].words[w]) {
			return l, w
		}
	}
}

package demo

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed grammar
var files embed.FS

// languages in the order of their share: see pickLanguage.
var languages = []*language{
	mustLoad("en", " "), mustLoad("de", " "), mustLoad("ru", " "),
	mustLoad("zh", ""), mustLoad("ja", ""), mustLoad("ar", " "),
}

// pickLanguage returns English for 6 posts in 10, else one of the others.
func pickLanguage(rng *rand.Rand) *language {
	if rng.IntN(10) < 6 {
		return languages[0]
	}
	return languages[1+rng.IntN(len(languages)-1)]
}

// language is a grammar: symbols, each with the alternatives that may stand for it.
type language struct {
	code   string
	joiner string // between words in the post; the grammar has spaces in any language
	rules  map[string][]string
	pool   []string // words, for edits
}

func mustLoad(code, joiner string) *language {
	data, err := files.ReadFile("grammar/" + code + ".txt")
	if err != nil {
		panic(err) // the file is part of the binary
	}
	l := &language{code: code, joiner: joiner, rules: map[string][]string{}}
	for number, row := range strings.Split(string(data), "\n") {
		if err := l.add(row); err != nil {
			panic(fmt.Sprintf("grammar %s:%d: %v", code, number+1, err))
		}
	}
	return l
}

// add takes one row of a grammar: "symbol: alternative | alternative", a comment or nothing.
func (l *language) add(row string) error {
	if row == "" || row[0] == '#' {
		return nil
	}
	symbol, alternatives, ok := strings.Cut(row, ": ")
	if !ok {
		return fmt.Errorf("no symbol in %q", row)
	}
	for alternative := range strings.SplitSeq(alternatives, " | ") {
		l.rules[symbol] = append(l.rules[symbol], alternative)
		for word := range strings.FieldsSeq(alternative) {
			if l.isPlain(word) && isWord(word) && !strings.ContainsAny(symbol, "123") {
				l.pool = append(l.pool, word)
			}
		}
	}
	return nil
}

// isPlain reports whether a word of a grammar stands for itself and cannot be read as an abbreviation at the end
// of a sentence. (Symbols with a digit are parts of words.)
func (l *language) isPlain(word string) bool {
	last, _ := utf8.DecodeLastRuneInString(word)
	minRunes := 4
	if l.joiner == "" {
		minRunes = 2
	}
	return !strings.ContainsAny(word, "{}") && !unicode.IsPunct(last) && utf8.RuneCountInString(word) >= minRunes
}

// expand replaces every {symbol} of s by one of its alternatives.
func (l *language) expand(rng *rand.Rand, s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		symbol, after, _ := strings.Cut(rest, "}")
		b.WriteString(l.symbol(rng, symbol))
		s = after
	}
}

// symbol writes one symbol: {n} and {m} are numbers, {^name} is {name} with a capital.
func (l *language) symbol(rng *rand.Rand, symbol string) string {
	switch {
	case symbol == "n":
		return strconv.Itoa(2 + rng.IntN(998))
	case symbol == "m":
		return strconv.Itoa(2 + rng.IntN(89))
	case symbol[0] == '^':
		return capital(l.symbol(rng, symbol[1:]))
	}
	alternatives := l.rules[symbol]
	return l.expand(rng, alternatives[rng.IntN(len(alternatives))])
}

func capital(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[n:]
}

// line writes one sentence.
func (l *language) line(rng *rand.Rand, template string) line {
	s := capital(l.expand(rng, template))
	words := strings.TrimRight(s, " .!?。！？")
	end := strings.TrimLeft(s[len(words):], " ")
	if end == "" {
		end = l.rules["stop"][0]
	}
	return line{words: strings.Fields(words), end: end}
}

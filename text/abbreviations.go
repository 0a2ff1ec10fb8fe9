package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// abbreviation says what a full stop after an abbreviation means.
type abbreviation uint8

const (
	// title stands before a name: its full stop never ends a sentence ("Dr. Smith").
	title abbreviation = iota + 1
	// proper is inner where it is capitalised, and a word elsewhere ("Ill.", "ill").
	proper
	// inner stands anywhere: it ends a sentence only before a word that likes to begin one ("Co. It closed").
	inner
	// numbered stands before a number, where its full stop ends nothing ("No. 5", "Jan. 5"); else it is a word.
	numbered
	// final likes to stand at the end: its full stop ends a sentence before any capital ("etc. Cats").
	final
	// timeOfDay is "a.m." and "p.m.".
	timeOfDay
)

// abbreviates says whether the full stop after word, which begins at start, only abbreviates it, before a
// follower that is not a small letter.
func (c *cutter) abbreviates(word string, start int, f *follower) bool {
	digit := unicode.IsDigit(f.letter)
	switch c.abbreviationAt(word, start) {
	case title:
		return true
	case inner:
		return digit || f.initial || !starts(f.word)
	case numbered:
		return digit || roman(f.word)
	case timeOfDay:
		return digit || c.openingPhrase(start)
	}
	return false
}

// abbreviationAt classifies word, which begins at start: by the lists, or as initials. A word that a hyphen or
// an apostrophe joins to another is no abbreviation.
func (c *cutter) abbreviationAt(word string, start int) abbreviation {
	if a := abbreviationOf(word); a != 0 {
		return a
	}
	if strings.HasSuffix(word, "str") { // German streets
		return inner
	}
	if !initials(word) && !doubled(word) {
		return 0
	}
	if prev := before(c.post, start); prev == '\'' || prev == '’' || unicode.IsSymbol(prev) || unicode.Is(unicode.Pd, prev) {
		return 0
	}
	if c.unit(word, start) {
		return final
	}
	return inner
}

// abbreviationOf looks word up in the lists, 0 if it is in none.
func abbreviationOf(word string) abbreviation {
	if len(word) > maxWord {
		return 0
	}
	a := abbreviations()[strings.ToLower(word)]
	if a != proper {
		return a
	}
	if first, _ := utf8.DecodeRuneInString(word); !upper(first) {
		return 0
	}
	return inner
}

// initials are single letters, each with a full stop, the last of which is not part of word: "E", "U.S", "т.е".
func initials(word string) bool {
	if word == "" {
		return false
	}
	for part := range strings.SplitSeq(word, ".") {
		r, size := utf8.DecodeRuneInString(part)
		if !unicode.IsLetter(r) || size != len(part) || characterScript(r) {
			return false
		}
	}
	return true
}

// doubled says whether word is one capital twice, as Spanish abbreviates plurals: "EE. UU.".
func doubled(word string) bool {
	return len(word) == 2 && word[0] == word[1] && 'A' <= word[0] && word[0] <= 'Z'
}

// unit says whether word is a small Latin letter after a number: "10 h", "5 m".
func (c *cutter) unit(word string, start int) bool {
	if len(word) != 1 || word[0] < 'a' || start < 2 || c.post[start-1] != ' ' {
		return false
	}
	return isDigit(c.post[start-2])
}

// openingPhrase says whether the time that begins at start belongs to the phrase that opens the sentence ("At 5
// a.m. Mr. Smith went"): at most two words come before it.
func (c *cutter) openingPhrase(start int) bool {
	return start > c.start && len(strings.Fields(c.post[c.start:min(start, c.start+maxWord)])) <= 2
}

// roman says whether s is a number of Roman digits, all capital.
func roman(s string) bool { return s != "" && strings.Trim(s, "IVXLCDM") == "" }

// isDecimal says whether word is made of digits and full stops.
func isDecimal(word string) bool {
	return word != "" && strings.Trim(word, "0123456789.") == ""
}

// date says whether the number that begins at start is followed by the next number of a date, as in "5. 12. 1990".
func (c *cutter) date(start int, f *follower) bool {
	if !isDecimal(f.word) {
		return false
	}
	end := f.at + len(f.word)
	if len(f.word) <= 2 {
		return strings.HasPrefix(c.post[end:], ". ") && end+2 < len(c.post) && isDigit(c.post[end+2])
	}
	above, found := strings.CutSuffix(strings.TrimRight(c.post[max(c.start, start-4):max(c.start, start)], " "), ".")
	return len(f.word) == 4 && found && above != "" && isDigit(above[len(above)-1])
}

// ordinal says whether the full stop after the number word makes an ordinal of it, as it does in German and
// many other languages: "vom 12. Juni", "im 19. Jahrhundert".
func (c *cutter) ordinal(word string, start int, f *follower) bool {
	if len(word) > 2 {
		return false
	}
	if !unicode.IsLetter(f.letter) {
		return c.date(start, f)
	}
	if ordinalNouns()[strings.ToLower(f.word)] {
		return true
	}
	article, _ := c.wordBefore(len(strings.TrimRight(c.post[:start], " ")))
	return ordinalArticles()[strings.ToLower(article)] && !starts(f.word)
}

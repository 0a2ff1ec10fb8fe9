package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord bounds how far a rule looks back or ahead for a word, in bytes: no abbreviation is longer.
const maxWord = 32

// before is the visible character before i, 0 at the start.
func before(post string, i int) rune {
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(post[:i])
		if !invisible(r) {
			return r
		}
		i -= size
	}
	return 0
}

// wordBefore is the run of letters, digits and inner full stops of the current sentence that ends at i, without
// invisible characters at its end and cut to maxWord bytes. Start is where it begins.
func (c *cutter) wordBefore(i int) (word string, start int) {
	post := c.post
	for i > c.start {
		r, size := utf8.DecodeLastRuneInString(post[:i])
		if !invisible(r) {
			break
		}
		i -= size
	}
	start = i
	for start > c.start && i-start < maxWord {
		r, size := utf8.DecodeLastRuneInString(post[:start])
		if !wordRune(r) && !unicode.IsMark(r) && r != '.' && r != '°' {
			break
		}
		start -= size
	}
	word = strings.TrimLeft(post[start:i], ".")
	return word, i - len(word)
}

// follower is what comes after an ending: the next visible character, and the first of a word behind opening
// punctuation.
type follower struct {
	at     int
	r      rune // 0 at the end of the text
	spaced bool // white space comes before it
	letter rune // first letter or digit behind opening marks; r itself, usually
	word   string
	dash   bool // a dash stands before the letter
	// initial: the word is one letter with a full stop.
	initial bool
}

func (c *cutter) followerAt(i int) follower {
	f := follower{at: i}
	for f.at < len(c.post) {
		r, size := utf8.DecodeRuneInString(c.post[f.at:])
		if lineBreak(r) || !unicode.IsSpace(r) && !invisible(r) {
			break
		}
		f.spaced = f.spaced || !invisible(r)
		f.at += size
	}
	if f.at == len(c.post) {
		return f
	}
	f.r, _ = utf8.DecodeRuneInString(c.post[f.at:])
	f.findWord(c.post)
	return f
}

// findWord looks behind at most four opening marks for the word.
func (f *follower) findWord(post string) {
	i := f.at
	for range 4 {
		r, size := utf8.DecodeRuneInString(post[i:])
		if !opener(r) && !unicode.IsSpace(r) || lineBreak(r) {
			break
		}
		f.dash = f.dash || unicode.Is(unicode.Pd, r)
		i += size
	}
	f.letter, _ = utf8.DecodeRuneInString(post[i:])
	end := i
	for end < len(post) && end-i < maxWord {
		r, size := utf8.DecodeRuneInString(post[end:])
		if !wordRune(r) {
			break
		}
		end += size
	}
	f.word = post[i:end]
	f.initial = strings.HasPrefix(post[end:], ".") && utf8.RuneCountInString(f.word) == 1
}

// opener says whether r may stand before the first word of a sentence.
func opener(r rune) bool {
	switch r {
	case '"', '\'', '(', '[', '{', '¿', '¡', '*', '_', '-', '–', '—', '«', '»', '‘', '’', '“', '„', '‚', '”', '<', '>':
		return true
	}
	return r >= 0x80 && unicode.In(r, unicode.Ps, unicode.Pi)
}

// continuesSentence says whether r continues a sentence whatever stands before it.
func continuesSentence(r rune) bool {
	switch r {
	case ',', ';', ':', ')', ']', '}', '%', '、', '，', '；', '：', '،', '؛', '/', '=', '&', '+':
		return true
	}
	return false
}

// lower: Georgian letters are small ones to Unicode, but no sentence begins with others.
func lower(r rune) bool { return unicode.IsLower(r) && !(0x10D0 <= r && r <= 0x10FF) }

func upper(r rune) bool { return unicode.IsUpper(r) || unicode.IsTitle(r) }

// capitalised says whether word begins with a capital and goes on in small letters.
func capitalised(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	next, _ := utf8.DecodeRuneInString(word[size:])
	return upper(r) && lower(next)
}

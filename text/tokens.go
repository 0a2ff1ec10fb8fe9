package text

import (
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
)

// unit is a token before its text becomes a string.
type unit struct {
	from, to   int // in the normalised text
	start, end int // in the raw post
	kind       Kind
}

// tokenise appends the tokens of post[start:end].
func tokenise(dst []unit, n *normaliser, post string, start, end int) []unit {
	if start >= end {
		return dst
	}
	at := max(len(n.stretches)-1, 0) // the first stretch of the piece may join the last of the one before
	piece := n.add(post, start, end)
	text := n.out[:piece.end]
	for i := piece.start; i < piece.end; {
		from, to, kind, ok := nextToken(text, piece.start, i)
		if ok {
			var raw span
			raw, at = n.rawRange(from, to, at)
			dst = append(dst, unit{from, tagEnd(text, from, to, kind), raw.start, raw.end, kind})
		}
		i = max(to, i+1)
	}
	return dst
}

// nextToken looks at text[i:] and returns the token there, or how far there is none.
func nextToken(text []byte, start, i int) (from, to int, kind Kind, ok bool) {
	c := text[i]
	switch {
	case c == ' ':
		return i, i + 1, Word, false
	case isAlnum(c):
		return nextWord(text, i)
	case c == '@':
		if to := mentionEnd(text, start, i); to > 0 {
			return i, to, Mention, true
		}
	case c == '#':
		if to := hashtagEnd(text, start, i); to > 0 {
			return i, to, Hashtag, true
		}
	case c >= utf8.RuneSelf:
		return nextWide(text, i)
	case c == '_':
		return nextWord(text, i)
	}
	return i, i + 1, Word, false
}

// nextWide is nextToken where text[i:] begins with a character beyond ASCII.
func nextWide(text []byte, i int) (from, to int, kind Kind, ok bool) {
	r, size := utf8.DecodeRune(text[i:])
	if characterScript(r) && (unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)) {
		return i, marksEnd(text, i+size), Character, true
	}
	if !wordRune(r) {
		return i, i + size, Word, false
	}
	return nextWord(text, i)
}

// marksEnd skips the combining marks at i.
func marksEnd(text []byte, i int) int {
	for i < len(text) && text[i] >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(text[i:])
		if !unicode.IsMark(r) {
			break
		}
		i += size
	}
	return i
}

// nextWord is the UAX #29 word at i, without the underscores around it; a word needs a letter or a digit.
func nextWord(text []byte, i int) (from, to int, kind Kind, ok bool) {
	to, plain := asciiWord(text, i)
	if !plain {
		to, ok = wideWord(text, i)
		if !ok {
			return i, to, Word, false
		}
	}
	from, end := i, to
	for from < end && text[from] == '_' {
		from = marksEnd(text[:end], from+1)
	}
	for from < end && text[end-1] == '_' {
		end--
	}
	if from == end {
		return i, to, Word, false
	}
	return from, end, Word, true
}

// asciiWord finds the end of the word at i by the rules of UAX #29 for ASCII, or says that the word does not
// end within ASCII. FuzzWords holds it to the library's answer.
func asciiWord(text []byte, i int) (end int, plain bool) {
	for j := i; ; j++ {
		if j == len(text) {
			return j, true
		}
		switch c := text[j]; {
		case isAlnum(c) || c == '_':
		case c >= utf8.RuneSelf:
			return j, false
		case !joins(text, j):
			return j, j+1 >= len(text) || text[j+1] < utf8.RuneSelf
		}
	}
}

// joins says whether the punctuation mark at j stands between two letters or two digits that it joins.
func joins(text []byte, j int) bool {
	if j+1 >= len(text) || j == 0 {
		return false
	}
	before, after := text[j-1], text[j+1]
	switch text[j] {
	case '\'', '.':
		return isLetter(before) && isLetter(after) || isDigit(before) && isDigit(after)
	case ',', ';':
		return isDigit(before) && isDigit(after)
	}
	return false
}

// wideWord is asciiWord for all of Unicode: the library's word, cut before the first character that is a token
// of its own.
func wideWord(text []byte, i int) (end int, ok bool) {
	size, word, err := words.SplitFunc(text[i:], true)
	if err != nil || size <= 0 {
		return i + 1, false // it never happens: the function has no errors at the end of its input
	}
	seen := 0 // behind the last character that belongs to a word
	letters := false
	for j := 0; j < len(word); {
		r, w := utf8.DecodeRune(word[j:])
		switch {
		case r == keycap:
			return i + j + w, false
		case j > 0 && (r == ':' || characterScript(r) && unicode.IsLetter(r)):
			return i + max(seen, 1), letters
		case nameRune(r):
			seen = j + w
			letters = letters || wordRune(r)
		}
		j += w
	}
	return i + size, letters
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

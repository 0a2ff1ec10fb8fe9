package text

import (
	"sync"
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
	letters := plainLetters()
	for i := piece.start; i < piece.end; {
		if text[i] == ' ' {
			i++
			continue
		}
		from, to, kind, ok := i, i, Word, false
		if isAlnum(text[i]) || letters.at(text, i) { // nearly always: nextToken without its other questions
			to, ok = plainWord(text, i)
			ok = ok && text[to-1] != '_'
		}
		if !ok {
			from, to, kind, ok = nextToken(text, piece.start, i)
		}
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
	if plainLetters().at(text, i) {
		return nextWord(text, i)
	}
	if to := hanEnd(text, i); to > 0 {
		return i, to, Character, true
	}
	r, size := utf8.DecodeRune(text[i:])
	if characterScript(r) && (unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)) {
		return i, combiningMarksEnd(text, i+size), Character, true
	}
	if !wordRune(r) {
		return i, i + size, Word, false
	}
	return nextWord(text, i)
}

// hanEnd is where the ideograph at i ends, if it is one of U+5000 to U+9FBF and no mark can follow it; 0 otherwise.
func hanEnd(text []byte, i int) int {
	if i+3 > len(text) || text[i] < 0xE5 || text[i] > 0xE9 || text[i] == 0xE9 && text[i+1] == 0xBF {
		return 0
	}
	if i+3 < len(text) && text[i+3] >= utf8.RuneSelf && wordBytes[text[i+3]] != parts {
		return 0
	}
	return i + 3
}

// combiningMarksEnd skips the combining marks at i.
func combiningMarksEnd(text []byte, i int) int {
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
	to, plain := plainWord(text, i)
	if !plain {
		to, ok = wideWord(text, i)
		if !ok {
			return i, to, Word, false
		}
	}
	from, end := i, to
	for from < end && text[from] == '_' {
		from = combiningMarksEnd(text[:end], from+1)
	}
	for from < end && text[end-1] == '_' {
		end--
	}
	if from == end {
		return i, to, Word, false
	}
	return from, end, Word, true
}

// plainWord finds the end of the word at i by the rules of UAX #29 for ASCII and plain letters, or says that what
// stands behind it may go on with it by other rules. FuzzWords holds it to the library's answer.
func plainWord(text []byte, i int) (end int, plain bool) {
	letters := plainLetters()
	for j := i; j < len(text); {
		c := text[j]
		switch wordBytes[c] {
		case inWord:
			j++
		case parts:
			return j, true
		case mayJoin:
			joined, sure := joins(text, j, letters)
			if !joined {
				return j, sure
			}
			j++
		default:
			if !letters.at(text, j) {
				return j, false
			}
			j += 2
		}
	}
	return len(text), true
}

// byteClass is what a byte means for the end of a word.
type byteClass uint8

const (
	parts    byteClass = iota // ASCII that ends a word, or begins Han, which does too
	inWord                    // letters, digits, underscores
	mayJoin                   // punctuation that may stand inside
	nonASCII                  // it takes the whole character
)

// wordBytes: of the marks that UAX #29 has inside words, a colon ends ours.
var wordBytes = func() (t [256]byteClass) {
	for b := range t {
		switch {
		case b == '_' || isAlnum(byte(b)):
			t[b] = inWord
		case b == '\'' || b == '.' || b == ',' || b == ';':
			t[b] = mayJoin
		case b >= utf8.RuneSelf && !(0xE4 <= b && b <= 0xE9):
			t[b] = nonASCII
		}
	}
	return t
}()

// letterSet is a set of characters of two bytes, a bit each, by their bytes.
type letterSet [plainLeads]uint64

// at says whether a character of the set stands at i.
func (s *letterSet) at(text []byte, i int) bool {
	c := text[i]
	return i+1 < len(text) && 0xC2 <= c && c < 0xC2+plainLeads && s[c-0xC2]&(1<<(text[i+1]&0x3F)) != 0
}

// plainLetters are letters for UAX #29 too, and of no rule of their own: Latin, Greek and Cyrillic.
var plainLetters = sync.OnceValue(func() *letterSet {
	s := new(letterSet)
	for r := rune(0xC0); r < 0x530; r++ {
		if unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) && unicode.In(r, unicode.Lu, unicode.Ll) {
			s[r>>6-2] |= 1 << (r & 0x3F)
		}
	}
	return s
})

// joins says whether the punctuation mark at j, behind a word, stands between two letters or two digits that it joins.
// Sure is false where what comes behind it takes other rules.
func joins(text []byte, j int, letters *letterSet) (joined, sure bool) {
	if j+1 >= len(text) {
		return false, true
	}
	before, after, c := text[j-1], text[j+1], text[j]
	if isDigit(before) && isDigit(after) {
		return true, true
	}
	letter := isLetter(after)
	if after >= utf8.RuneSelf {
		if letter = letters.at(text, j+1); !letter {
			return false, false
		}
	}
	return letter && (isLetter(before) || before >= utf8.RuneSelf) && (c == '\'' || c == '.'), true
}

// firstChunk is how many bytes the library is shown at first: more than nearly all words have.
const firstChunk = 32

// wideWord is plainWord for all of Unicode: the library's word, cut before the first character that is a token
// of its own. The library would read on to the end of its word, of which one character may be ours, and again from the
// next; so it is shown a little, and twice as much as long as that does not decide.
func wideWord(text []byte, i int) (end int, ok bool) {
	for size := firstChunk; size < len(text)-i; size *= 2 {
		to := i + size
		for !utf8.RuneStart(text[to]) {
			to--
		}
		if end, ok, sure := wordOf(text[i:to], false); sure {
			return i + end, ok
		}
	}
	end, ok, _ = wordOf(text[i:], true)
	return i + end, ok
}

// wordOf is wideWord at the beginning of text; sure says that what may follow text makes no difference. atEOF is that of a
// bufio.SplitFunc: nothing follows.
func wordOf(text []byte, atEOF bool) (end int, ok, sure bool) {
	end, word, err := words.SplitFunc(text, atEOF)
	open := end == 0 && !atEOF // the word goes on up to the last character that counts, or further
	if open {
		word = text
	} else if err != nil || end <= 0 {
		return 1, false, true // it never happens: the function has no errors at the end of its input
	}
	seen := 0 // behind the last character that belongs to a word
	letters := false
	for j := 0; j < len(word); {
		r, w := utf8.DecodeRune(word[j:])
		switch {
		case r == keycap:
			return j + w, false, !open || anyCounts(word[j+w:])
		case j > 0 && (r == ':' || characterScript(r) && unicode.IsLetter(r)):
			return max(seen, 1), letters, !open || anyCounts(word[j+w:])
		case nameRune(r):
			seen = j + w
			letters = letters || wordRune(r)
		}
		j += w
	}
	return end, letters, !open
}

// anyCounts says whether text has a character of which we know that UAX #29 does not pass over it (rule WB4). What stands
// before it has been decided then. No word begins with one that we do not know this of, so none is looked at often.
func anyCounts(text []byte) bool {
	for j := 0; j < len(text); {
		r, w := utf8.DecodeRune(text[j:])
		if r < utf8.RuneSelf || wordRune(r) && r != 0xFF9E && r != 0xFF9F { // the voiced marks are letters to Unicode
			return true
		}
		j += w
	}
	return false
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

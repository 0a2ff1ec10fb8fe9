package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ending is what stands at the end of a sentence, if it is one: terminators and closing punctuation.
type ending struct {
	first, end int  // byte range
	dots       int  // full stops in it; an ellipsis character counts three
	strong     bool // holds a question or exclamation mark, or the full stop of another script
	wide       bool // holds a full stop that needs no space after it
	closed     bool // holds closing punctuation
	faced      bool // an emoticon or emoji follows, taken along
}

// terminator says whether the character r at i can end a sentence.
func (c *cutter) terminator(i int, r rune) bool {
	switch r {
	case '.':
		return !armenian(before(c.post, i))
	case '!', '?', '…':
		return true
	case ':':
		return armenian(before(c.post, i)) && c.spaceOrEnd(i+1)
	case ';', 0x37E:
		return greek(before(c.post, i)) && c.spaceOrEnd(i+utf8.RuneLen(r))
	case '፡': // two Ethiopic word spaces stand for a full stop
		return strings.HasPrefix(c.post[i+len("፡"):], "፡")
	}
	return wideTerminator(r)
}

// wideTerminator are the sentence terminals of Unicode (STerm) that no space needs to follow.
func wideTerminator(r rune) bool {
	switch r {
	case 0x17D4, 0x17D5: // Khmer, in STerm since Unicode 16
		return true
	case 0x2024, 0x2025: // leaders
		return false
	}
	return r >= 0x0589 && unicode.Is(unicode.STerm, r)
}

func armenian(r rune) bool { return 0x0530 <= r && r < 0x0590 }
func greek(r rune) bool    { return 0x0370 <= r && r < 0x0400 || 0x1F00 <= r && r < 0x2000 }

func (c *cutter) spaceOrEnd(i int) bool {
	if i >= len(c.post) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(c.post[i:])
	return unicode.IsSpace(r) || closer(r)
}

// endingAt reads the ending whose first terminator is at i: terminators and closers in any order, footnote
// numbers ("[1]"), and a guillemet after a space as the French set it.
func (c *cutter) endingAt(i int) ending {
	e := ending{first: i, end: i}
	for e.end < len(c.post) {
		r, size := utf8.DecodeRuneInString(c.post[e.end:])
		switch {
		case invisible(r):
		case c.terminator(e.end, r):
			e.add(r)
			if r == '፡' {
				size *= 2
			}
		case closer(r), c.closesQuote(r), r == '\\' && e.end+1 < len(c.post) && c.post[e.end+1] == '"':
			e.closed = true
			if c.closesQuote(r) {
				c.closing = 0
			}
		default:
			n := c.looseCloser(e.end, r)
			if n == 0 {
				return e
			}
			e.closed, size = true, n
		}
		e.end += size
	}
	return e
}

func (e *ending) add(r rune) {
	switch {
	case r == '.':
		e.dots++
	case r == '…':
		e.dots += 3
	default:
		e.strong = true
		e.wide = e.wide || wideTerminator(r) || r == '፡'
	}
}

// looseCloser is the length of a footnote number or of a spaced guillemet at i, 0 if there is neither.
func (c *cutter) looseCloser(i int, r rune) int {
	rest := c.post[i:]
	if r == '[' {
		n := 1
		for n < len(rest) && n < 4 && isDigit(rest[n]) {
			n++
		}
		if n > 1 && n < len(rest) && rest[n] == ']' {
			return n + 1
		}
		return 0
	}
	if c.closing == '»' && (r == ' ' || r == 0xA0 || r == 0x202F) {
		if n := utf8.RuneLen(r); strings.HasPrefix(rest[n:], "»") {
			c.closing = 0
			return n + len("»")
		}
	}
	return 0
}

// closer says whether r closes a quotation or bracket when it stands right after a terminator. Of the marks that
// open in one language and close in another, only those that close what is open do (closesQuote).
func closer(r rune) bool {
	switch r {
	case '"', '\'', ')', ']', '}', '»', '›', '’', '”', '＂', '＇':
		return true
	case '“', '‘', '«', '‹':
		return false
	}
	return r >= 0x80 && unicode.In(r, unicode.Pe, unicode.Pf)
}

// invisible characters stand for nothing when we look what is next to a mark: directional marks, joiners.
func invisible(r rune) bool {
	return 0x200B <= r && r <= 0x200F || 0x202A <= r && r <= 0x202E || 0x2060 <= r && r <= 0x206F || r == 0xFEFF
}

// skipFaces moves the end behind emoticons and emoji that follow the ending: they belong to what was said.
func (c *cutter) skipFaces(e *ending) {
	for {
		i := skipSpace(c.post, e.end)
		n := faceLength(c.post[i:])
		if n == 0 {
			return
		}
		e.end, e.faced = i+n, true
	}
}

// faceLength is the length of the emoticon or emoji that s begins with, 0 if it begins with neither.
func faceLength(s string) int {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == 0x200D || r == 0xFE0F || 0x1F000 <= r && r <= 0x1FAFF || 0x2600 <= r && r <= 0x27BF:
		return size
	case r != ':' && r != ';' && r != '=' || len(s) < 2:
		return 0
	}
	n := 1
	if s[n] == '-' && len(s) > 2 {
		n++
	}
	if strings.IndexByte(")(DPpOo|*3/]", s[n]) < 0 || n+1 < len(s) && isAlnum(s[n+1]) {
		return 0
	}
	for n < len(s) && strings.IndexByte(")(", s[n]) >= 0 {
		n++
	}
	return max(n, 2)
}

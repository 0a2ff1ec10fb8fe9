package text

import (
	"strings"
	"unicode/utf8"
)

// atTerminator decides about the ending at i and returns where to go on.
func (c *cutter) atTerminator(i int) int {
	if end, cut := c.spacedEllipsis(i); end > 0 {
		if cut >= 0 {
			c.cut(cut)
		}
		return end
	}
	e := c.endingAt(i)
	c.skipFaces(&e)
	f := c.followerAt(e.end)
	if f.r != 0 && !lineBreak(f.r) && c.endsSentence(&e, &f) && !c.inQuotation(e.end) {
		c.cut(e.end)
	}
	return e.end
}

// endsSentence judges an ending e before f, on one line.
func (c *cutter) endsSentence(e *ending, f *follower) bool {
	switch {
	case e.faced:
		return true
	case continuesSentence(f.r), f.dash && lower(f.letter):
		return false
	case e.wide:
		return c.wideEnds(e, f)
	case e.strong:
		return c.strongEnds(e, f)
	case e.dots > 1:
		return c.ellipsisEnds(e, f)
	}
	return c.stopEnds(e, f)
}

// wideEnds: a full stop that needs no space ends a sentence, unless the sentence goes on after the quotation
// that it closes, as Japanese does with a particle.
func (c *cutter) wideEnds(e *ending, f *follower) bool {
	return !e.closed || f.spaced || !strings.ContainsRune("とってはがをもにのでだなや", f.r)
}

// strongEnds is for "!" and "?". They are part of some names ("Yahoo! in the"), so before a small letter the
// word in front of them decides.
func (c *cutter) strongEnds(e *ending, f *follower) bool {
	prev := before(c.post, e.first)
	if !f.spaced {
		return characterScript(prev) || lower(prev) && capitalised(f.word)
	}
	if !lower(f.letter) {
		return true
	}
	word, start := c.wordBefore(e.first)
	return !e.closed && (!capitalised(word) || c.firstWord(start))
}

// ellipsisEnds: three dots end a sentence before a capital. In brackets they only mark an omission.
func (c *cutter) ellipsisEnds(e *ending, f *follower) bool {
	prev := before(c.post, e.first)
	switch {
	case prev == '[' || prev == '(' || f.r == '(':
		return false
	case !f.spaced:
		return lower(prev) && capitalised(f.word)
	case characterScript(prev):
		return true
	}
	return upper(f.letter)
}

// stopEnds judges a single full stop.
func (c *cutter) stopEnds(e *ending, f *follower) bool {
	word, start := c.wordBefore(e.first)
	if !f.spaced {
		return c.unspacedStopEnds(e, f, word, start)
	}
	if c.onlyMarker(word, start) {
		return false
	}
	if f.r == '.' && leadingEllipsis(c.post[f.at:]) {
		return true
	}
	switch {
	case lower(f.letter):
		return !e.closed && f.letter == f.r && c.lowerStarts(word, start)
	case isDecimal(word):
		return !c.ordinal(word, start, f)
	}
	return e.closed || !c.abbreviates(word, start, f)
}

func leadingEllipsis(s string) bool {
	rest := strings.TrimLeft(s, ".…")
	r, _ := utf8.DecodeRuneInString(rest)
	return len(s)-len(rest) >= 3 && wordRune(r)
}

// unspacedStopEnds: "world.Today" lacks a space, "example.com", "3.5" and "e.g." do not.
func (c *cutter) unspacedStopEnds(e *ending, f *follower, word string, start int) bool {
	prev := before(c.post, e.first)
	if characterScript(prev) {
		return characterScript(f.r)
	}
	if e.closed || !capitalised(f.word) || start > 0 && strings.IndexByte("@/_-", c.post[start-1]) >= 0 {
		return false
	}
	if dot := strings.LastIndexByte(word, '.'); dot >= 0 && !isDecimal(word[dot+1:]) {
		word = word[dot+1:]
	}
	if isDecimal(word) {
		return utf8.RuneCountInString(f.word) > 1
	}
	return utf8.RuneCountInString(word) > 1 && lower(prev) && abbreviationOf(word) == 0 &&
		(!topLevel(f.word) || len(f.word) == 2) && !c.inAddress(f.at)
}

// inAddress says whether the word at i is part of a mail address.
func (c *cutter) inAddress(i int) bool {
	for j := i; j < len(c.post) && j-i < maxWord; j++ {
		b := c.post[j]
		if b == '@' {
			return true
		}
		if !isAlnum(b) && strings.IndexByte("._-+", b) < 0 {
			return false
		}
	}
	return false
}

// lowerStarts: a small letter after a full stop begins a sentence where the writer has no capitals, or after a
// word too long to be an unknown abbreviation.
func (c *cutter) lowerStarts(word string, start int) bool {
	if abbreviationOf(word) != 0 || strings.IndexByte(word, '.') >= 0 || start <= c.start {
		return false
	}
	letters := 0
	for _, r := range word {
		if !lower(r) {
			return false
		}
		letters++
	}
	first := c.followerAt(c.start).letter
	return letters >= 5 || letters >= 3 && lower(first)
}

// firstWord says whether the word that begins at start is the first of its sentence.
func (c *cutter) firstWord(start int) bool {
	if start <= c.start {
		return true
	}
	for _, r := range c.post[c.start:min(start, c.start+maxWord)] {
		if wordRune(r) {
			return false
		}
	}
	return true
}

// maxQuotation bounds the search for the end of a quotation, in bytes.
const maxQuotation = 200

// inQuotation says whether i lies in a quotation or bracket after which the sentence around it goes on: then it
// is not cut inside either.
func (c *cutter) inQuotation(i int) bool {
	if c.closing == 0 {
		return false
	}
	rest := c.post[i:min(len(c.post), i+maxQuotation)]
	at := strings.IndexFunc(rest, c.closesQuote)
	if at < 0 || strings.IndexByte(rest[:at], '\n') >= 0 {
		return false
	}
	f := c.afterQuotation(i + at + utf8.RuneLen(c.closing))
	return lower(f.letter) || f.r == ',' || f.r == '、' || f.r == '，' || f.r == 'と'
}

// afterQuotation is what follows a quotation that ends at i. Many full stops may stand in it, and much white space behind.
func (c *cutter) afterQuotation(i int) *follower {
	if c.quoteEnd != i {
		c.quoteEnd, c.afterQuote = i, c.followerAt(i)
	}
	return &c.afterQuote
}

// spacedEllipsis handles ". . ." at i: end is behind it, 0 if there is none; cut is where a sentence ends, -1
// if none does. Three dots never end one; a fourth is the full stop: the first one if it stands at the word,
// else the last.
func (c *cutter) spacedEllipsis(i int) (end, cut int) {
	if c.post[i] != '.' {
		return 0, -1
	}
	end = i + 1
	dots := 1
	for strings.HasPrefix(c.post[end:], " .") && !strings.HasPrefix(c.post[end:], " ..") {
		end += 2
		dots++
	}
	if dots < 3 {
		return 0, -1
	}
	attached := i > 0 && c.post[i-1] != ' '
	f := c.followerAt(end)
	switch {
	case dots < 4 || !upper(f.letter) || closer(f.r):
		return end, -1
	case attached:
		return end, i + 1
	}
	return end, end
}

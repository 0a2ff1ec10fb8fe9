package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cutter cuts a post into sentences in one walk from left to right. At every mark that may end a sentence it
// looks a bounded way around; so the work is linear in the length of the post.
//
// The frame is UAX #29: a sentence ends after terminators, closing punctuation and spaces, unless what follows
// goes on with it. What follows, and what stands before a full stop, is judged by the rules in stops.go; line
// breaks by lines.go; list items by lists.go.
type cutter struct {
	post  string
	cuts  []span
	start int // of the current sentence

	urls    []span // not yet passed
	list    marker // of the line we are in; the zero marker: none
	closing rune   // what closes the quotation or bracket we are in; 0: none
	lines   lineLengths

	line, lineSeen int // where the line of lineSeen begins

	quoteEnd   int // behind the end of the quotation that inQuotation last looked at
	afterQuote follower
}

// cutSentences appends the sentences of post[start:], trimmed of white space.
func cutSentences(dst []span, post string, start int, urls []span) []span {
	c := cutter{post: post, cuts: dst, start: skipBlank(post, start), urls: urls}
	c.list = markerAt(post, c.start)
	for i := c.skip(c.start); i < len(post); i = c.skip(i) {
		i = c.step(i)
	}
	c.cut(len(post))
	return c.cuts
}

// skip passes over bytes that no rule is about, up to the next URL. In a list, an item may begin anywhere.
func (c *cutter) skip(i int) int {
	if c.list.form != 0 {
		return i
	}
	end := len(c.post)
	for len(c.urls) > 0 && c.urls[0].end <= i {
		c.urls = c.urls[1:]
	}
	if len(c.urls) > 0 {
		end = c.urls[0].start
	}
	for i < end && !mayHaveRule[c.post[i]] {
		i++
	}
	return i
}

// step handles the character at i and returns where to go on.
func (c *cutter) step(i int) int {
	if end := c.urlEndAt(i); end > i {
		return end
	}
	if c.list.form != 0 && c.nextItem(i) {
		c.cut(i)
	}
	b := c.post[i]
	if b < utf8.RuneSelf {
		if !mayHaveRule[b] {
			return i + 1
		}
		return c.applyRule(i, rune(b), 1)
	}
	r, size := utf8.DecodeRuneInString(c.post[i:])
	return c.applyRule(i, r, size)
}

// mayHaveRule says of a byte whether a character that applyRule knows may begin with it. Most letters do not: Latin,
// Greek (U+00C0 to U+033F, U+0380 to U+03FF), Cyrillic (U+0400 to U+04FF), Han (U+4000 to U+9FFF), Hangul (U+B000 to
// U+D7FF); nor do bytes inside a character.
var mayHaveRule = func() (t [256]bool) {
	for _, b := range []byte(".!?:;\n\r\v\f/#\"()") {
		t[b] = true
	}
	for b := 0xC0; b < 0x100; b++ {
		letters := 0xC3 <= b && b <= 0xD3 && b != 0xCD || 0xE4 <= b && b <= 0xE9 || 0xEB <= b && b <= 0xED
		t[b] = !letters
	}
	return t
}()

// applyRule applies the rule for the character r at i, if it has one, and returns where to go on.
func (c *cutter) applyRule(i int, r rune, size int) int {
	switch {
	case lineBreak(r):
		return c.atLineBreak(i)
	case c.terminator(i, r):
		return c.atTerminator(i)
	case r == '/':
		if i > c.start && strings.HasPrefix(c.post[i:], "//@") { // Weibo: a comment on what follows
			c.cut(i)
		}
	case r == '#':
		if end := topicEnd(c.post, i); end > 0 {
			return end
		}
	default:
		c.trackQuote(i, r)
	}
	return i + size
}

// cut ends the current sentence at i. The next begins behind white space, which no rule need skip again.
func (c *cutter) cut(i int) {
	if c.closing == '"' || c.closing == ')' { // a mistake about these must not last
		c.closing = 0
	}
	if i <= c.start {
		return
	}
	c.cuts = appendTrimmed(c.cuts, c.post, c.start, i)
	c.start = skipBlank(c.post, i)
}

// skipBlank returns where the first visible character at or after i is.
func skipBlank(post string, i int) int {
	for i < len(post) {
		r, size := utf8.DecodeRuneInString(post[i:])
		if !unicode.IsSpace(r) && !invisible(r) {
			break
		}
		i += size
	}
	return i
}

func (c *cutter) urlEndAt(i int) int {
	for len(c.urls) > 0 && c.urls[0].end <= i {
		c.urls = c.urls[1:]
	}
	if len(c.urls) > 0 && c.urls[0].start <= i {
		return c.urls[0].end
	}
	return 0
}

// trackQuote notes the innermost quotation or bracket opened last. Quotations within quotations are rare, and a
// mistake costs no more than one cut.
func (c *cutter) trackQuote(i int, r rune) {
	switch {
	case c.closesQuote(r):
		c.closing = 0
	case r == '(' && i > 0 && strings.IndexByte(":;=-", c.post[i-1]) >= 0: // a sad face
	case r == '"' && c.insideWord(i): // Hebrew gershayim
	default:
		if closing := closes(r); closing != 0 {
			c.closing = closing
		}
	}
}

func (c *cutter) insideWord(i int) bool {
	if i == 0 || i+1 >= len(c.post) {
		return false
	}
	prev, _ := utf8.DecodeLastRuneInString(c.post[:i])
	next, _ := utf8.DecodeRuneInString(c.post[i+1:])
	return unicode.IsLetter(prev) && unicode.IsLetter(next)
}

// closesQuote: what opens low closes high, in German at the left and in Polish at the right.
func (c *cutter) closesQuote(r rune) bool {
	return r == c.closing && r != 0 || c.closing == '“' && r == '”'
}

// closes is the character that closes what open opens, 0 if it opens nothing.
func closes(open rune) rune {
	switch open {
	case '"', '＂':
		return open
	case '(':
		return ')'
	case '“':
		return '”'
	case '„':
		return '“'
	case '‚':
		return '‘'
	case '«':
		return '»'
	case '»':
		return '«'
	case '「', '『', '（', '《', '【':
		return open + 1
	}
	return 0
}

func lineBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029 || r == '\v' || r == '\f'
}

func appendTrimmed(dst []span, post string, start, end int) []span {
	s := strings.TrimLeftFunc(post[start:end], unicode.IsSpace)
	start = end - len(s)
	if s = strings.TrimRightFunc(s, unicode.IsSpace); s != "" {
		dst = append(dst, span{start, start + len(s)})
	}
	return dst
}

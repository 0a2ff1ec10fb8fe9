package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lineLengths is what the lines of a post look like, measured once, at its first line break.
type lineLengths struct {
	known   bool
	longest int
	full    int // lines of at least fullLine bytes
}

// A hard-wrapped text has at least wrappedLines lines of fullLine to longestLine bytes, and none longer.
const (
	fullLine     = 50
	longestLine  = 100
	wrappedLines = 3
)

// atLineBreak decides about the line break at i and returns where the next line begins. An empty line always
// ends a sentence. A single break does not where the sentence visibly goes on.
func (c *cutter) atLineBreak(i int) int {
	next := i
	breaks := 0
	for next < len(c.post) {
		r, size := utf8.DecodeRuneInString(c.post[next:])
		if !unicode.IsSpace(r) {
			break
		}
		if lineBreak(r) && !(r == '\n' && next > i && c.post[next-1] == '\r') {
			breaks++
		}
		next += size
	}
	if breaks > 1 || next == len(c.post) || !c.wraps(i, next) {
		c.cut(i)
		c.closing = 0
		c.list = markerAt(c.post, next)
	}
	return next
}

// wraps says whether the sentence goes on from the line that ends at i to the one whose text begins at next.
func (c *cutter) wraps(i, next int) bool {
	if markerAt(c.post, next).form != 0 || c.post[next] == '-' {
		return false
	}
	if quoteDepth(c.post[next:]) != quoteDepth(c.post[c.lineStart(i):i]) {
		return false
	}
	last, first := before(c.post, c.trimmedEnd(i)), c.followerAt(next)
	switch {
	case closer(last) || last == ':' || c.endsHere(i, next):
		return false
	case last == '.' && c.titleBefore(i):
		return true
	case characterScript(last):
		return strings.ContainsRune("のをがはにでと、，", last) && characterScript(first.letter)
	case lower(first.letter):
		return upper(c.followerAt(c.start).letter) || c.wrapped(i, next)
	}
	return c.wrapped(i, next)
}

// lineStart is where the line of i begins, behind a line feed: other breaks are none to mail programs. Places are asked for
// in rising order, so that nothing is looked at twice.
func (c *cutter) lineStart(i int) int {
	if n := strings.LastIndexByte(c.post[c.lineSeen:i], '\n'); n >= 0 {
		c.line = c.lineSeen + n + 1
	}
	c.lineSeen = i
	return c.line
}

func (c *cutter) trimmedEnd(i int) int { return len(strings.TrimRight(c.post[:i], " \t")) }

// endsHere says whether the line ends in a terminator that ends a sentence.
func (c *cutter) endsHere(i, next int) bool {
	end := c.trimmedEnd(i)
	last, size := utf8.DecodeLastRuneInString(c.post[:end])
	if !c.terminator(end-size, last) {
		return false
	}
	e := ending{first: end - size, end: end}
	e.add(last)
	f := c.followerAt(next)
	f.spaced = true
	if e.dots == 1 && before(c.post, e.first) != '.' && lower(f.letter) {
		return c.abbreviationAt(c.wordBefore(e.first)) == 0
	}
	return e.strong || c.endsSentence(&e, &f)
}

// titleBefore says whether the line that ends at i ends in a title, as "Mr.".
func (c *cutter) titleBefore(i int) bool {
	word, _ := c.wordBefore(c.trimmedEnd(i) - 1)
	return abbreviationOf(word) == title
}

// wrapped says whether the line that ends at i is full in a hard-wrapped text: the first word of the next line
// had no room on it.
func (c *cutter) wrapped(i, next int) bool {
	if !c.lines.known {
		c.lines = measureLines(c.post)
	}
	if c.lines.full < wrappedLines || c.lines.longest > longestLine {
		return false
	}
	start := c.lineStart(i)
	word := strings.IndexAny(c.post[next:min(len(c.post), next+longestLine)], " \n")
	if word < 0 || leadingSpace(c.post, next) > 1 {
		return false
	}
	length := i - start
	return length >= fullLine && length+1+word > c.lines.longest-c.lines.longest/8 // not all wrap at the same width
}

// quoteDepth counts the ">" or "|" that mail programs set in front of a quoted line.
func quoteDepth(line string) int {
	depth := 0
	for _, b := range []byte(line[:min(len(line), maxWord)]) {
		switch b {
		case '>', '|':
			depth++
		case ' ', '\t':
		default:
			return depth
		}
	}
	return depth
}

// leadingSpace is how many bytes of white space stand between next and the line break before it.
func leadingSpace(post string, next int) int {
	n := 0
	for n < next && (post[next-1-n] == ' ' || post[next-1-n] == '\t') {
		n++
	}
	return n
}

func measureLines(post string) lineLengths {
	l := lineLengths{known: true}
	for line := range strings.Lines(post) {
		n := len(strings.TrimRight(line, "\r\n"))
		l.longest = max(l.longest, n)
		if n >= fullLine {
			l.full++
		}
	}
	return l
}

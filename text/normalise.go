package text

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxCombiningMarks is how many combining marks one letter keeps. Real text has at most a few; heaps of them ("zalgo")
// are cut off here, so that the composition of a letter is bounded work.
const maxCombiningMarks = 30

// normaliser rewrites raw text to the form in which tokens are compared: NFKC with case folding, without
// invisible characters, Arabic vowel signs, Hebrew points and emoji written with a variation selector.
//
// Out only grows, piece by piece; stretches map it back to the raw text.
//
//	raw   H  E  L  L  O     …           (3 bytes)      Ä  (A, U+0308: 3 bytes)
//	out   h  e  l  l  o     .  .  .                    ä  (2 bytes)
//	      └── same ────┘    └ not same: whole ┘        └ not same ┘
//
// In a stretch of the same form, byte i of the one is byte i of the other. In any other, all of out stands for
// all of raw.
type normaliser struct {
	out       []byte
	stretches []stretch
	segment   []byte // one letter and its marks
	composed  []byte
	known     map[rune]string // normal forms of segments of one character
}

type stretch struct {
	out      int // begins here in out and ends where the next begins
	raw      span
	sameForm bool
}

func (n *normaliser) reset() { n.out, n.stretches = n.out[:0], n.stretches[:0] }

// add appends the normal form of post[start:end] and returns where in out it lies.
func (n *normaliser) add(post string, start, end int) span {
	from := len(n.out)
	for i := start; i < end; {
		if at := n.addPlain(post, i, end); at > i {
			i = at
		} else {
			i = n.addRunes(post, i, end)
		}
	}
	return span{from, len(n.out)}
}

// addPlain appends characters whose form is as long as they are and depends on nothing around them, the last before a
// combining mark excepted. It goes by bytes: ASCII, the letters of plainFold, and Han, which stays as it is.
func (n *normaliser) addPlain(post string, i, end int) int {
	start, from := i, len(n.out)
	n.out = slices.Grow(n.out, end-start)
	out, letters := n.out[from:from+end-start], plainFold()
	size := 0 // of the last character
walk:
	for i < end {
		at := i - start
		switch c := post[i]; {
		case c < utf8.RuneSelf:
			out[at], size = foldASCII[c], 1
		case i+1 < end && 0xC2 <= c && c < 0xC2+plainLeads && isContinuation(post[i+1]):
			f := letters[c-0xC2][post[i+1]&0x3F]
			if f[0] == 0 {
				break walk
			}
			out[at], out[at+1], size = f[0], f[1], 2
		case i+2 < end && 0xE4 <= c && c <= 0xE9 && isContinuation(post[i+1]) && isContinuation(post[i+2]):
			size = copy(out[at:], post[i:i+3])
		default:
			break walk
		}
		i += size
	}
	if i == start {
		return i
	}
	combines := i < end && n.combines(post[i:end], size)
	if combines {
		i -= size
	}
	n.out = n.out[:from+i-start]
	n.addStretch(stretch{from, span{start, i}, true})
	if combines {
		return n.addSegment(post, i, end)
	}
	return i
}

// combines says whether rest, behind a plain character of the given size, may combine with it or leave no trace.
func (n *normaliser) combines(rest string, size int) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	if stable(r) {
		return false
	}
	return size == 1 || dropped(r) || !startsSegment(rest, r)
}

func isContinuation(b byte) bool { return b&0xC0 == 0x80 }

// addRunes appends characters beyond ASCII: each by itself while neither it nor the next can combine with
// anything, the first that can as a segment.
func (n *normaliser) addRunes(post string, i, end int) int {
	r, size := utf8.DecodeRuneInString(post[i:end])
	for ok := stable(r); ok; {
		f, simple := foldRune(r)
		next, nextRune, nextSize, after := i+size, rune(0), 0, false
		nonASCII := next < end && post[next] >= utf8.RuneSelf
		if nonASCII {
			nextRune, nextSize = utf8.DecodeRuneInString(post[next:end])
			after = stable(nextRune)
		}
		if !simple || nonASCII && !after && (dropped(nextRune) || !startsSegment(post[next:end], nextRune)) {
			break
		}
		from := len(n.out)
		n.out = utf8.AppendRune(n.out, f)
		n.addStretch(stretch{from, span{i, next}, len(n.out)-from == size})
		if !nonASCII {
			return next
		}
		i, r, size, ok = next, nextRune, nextSize, after
	}
	return n.addSegment(post, i, end)
}

// addSegment appends the normal form of the character at i together with all that can combine with it.
func (n *normaliser) addSegment(post string, i, end int) int {
	start, from := i, len(n.out)
	n.segment = n.segment[:0]
	for marks := 0; i < end; {
		r, size := utf8.DecodeRuneInString(post[i:end])
		if !dropped(r) {
			if len(n.segment) > 0 && startsSegment(post[i:end], r) {
				break
			}
			if marks <= maxCombiningMarks {
				n.segment = appendMapped(n.segment, r)
			}
			marks++
		} else if r == emojiSelector && !isASCIIWord(n.segment) {
			n.segment = append(n.segment[:0], ' ')
		}
		i += size
	}
	n.out = append(n.out, n.compose()...)
	n.addStretch(stretch{from, span{start, i}, false})
	return i
}

// maxKnown bounds what the normaliser remembers.
const maxKnown = 4096

// compose is the normal form of the segment. Most segments are one character, a quotation mark or an ellipsis
// say, whose form is remembered.
func (n *normaliser) compose() []byte {
	r, size := utf8.DecodeRune(n.segment)
	if size != len(n.segment) {
		return n.normalForm()
	}
	form, ok := n.known[r]
	if !ok {
		form = string(n.normalForm())
		if n.known == nil || len(n.known) == maxKnown {
			n.known = make(map[rune]string)
		}
		n.known[r] = form
	}
	n.composed = append(n.composed[:0], form...)
	return n.composed
}

// normalForm is NFKC(fold(NFKC(segment))), which is its own normal form.
func (n *normaliser) normalForm() []byte {
	n.composed = norm.NFKC.Append(n.composed[:0], n.segment...)
	n.segment = n.segment[:0]
	for b := n.composed; len(b) > 0; {
		r, size := utf8.DecodeRune(b)
		if !dropped(r) {
			n.segment = appendFolded(n.segment, r)
		}
		b = b[size:]
	}
	n.composed = norm.NFKC.Append(n.composed[:0], n.segment...)
	return n.composed
}

// addStretch adds a stretch behind the others, or joins it to the last one where both have the same form.
func (n *normaliser) addStretch(s stretch) {
	if s.raw.start == s.raw.end {
		return
	}
	if i := len(n.stretches) - 1; s.sameForm && i >= 0 {
		last := &n.stretches[i]
		if last.sameForm && last.raw.end == s.raw.start && s.out-last.out == s.raw.start-last.raw.start {
			last.raw.end = s.raw.end
			return
		}
	}
	n.stretches = append(n.stretches, s)
}

// rawRange finds the raw bytes of out[from:to]. Stretch is the one to begin the search at; the one found is
// returned for the next call, so that a walk through out is linear.
func (n *normaliser) rawRange(from, to, at int) (raw span, stretch int) {
	if s := &n.stretches[at]; s.sameForm && s.out <= from && to-s.out <= s.raw.end-s.raw.start {
		return span{s.rawStart(from), s.rawEnd(to)}, at
	}
	at = n.stretchOf(from, at)
	raw.start = n.stretches[at].rawStart(from)
	last := n.stretchOf(to-1, at)
	raw.end = n.stretches[last].rawEnd(to)
	return raw, at
}

func (n *normaliser) stretchOf(out, at int) int {
	for at+1 < len(n.stretches) && n.stretches[at+1].out <= out {
		at++
	}
	return at
}

func (s stretch) rawStart(out int) int {
	if s.sameForm {
		return s.raw.start + out - s.out
	}
	return s.raw.start
}

func (s stretch) rawEnd(out int) int {
	if s.sameForm {
		return s.raw.start + out - s.out
	}
	return s.raw.end
}

func isASCIIWord(b []byte) bool { return len(b) == 1 && isAlnum(b[0]) }

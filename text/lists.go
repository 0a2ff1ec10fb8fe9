package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// marker is the mark in front of a list item: "1.", "1)", "1.)", "(1)", "a." or a bullet.
type marker struct {
	form  form
	value int // of a number or letter; the character of a bullet
}

type form uint8

const (
	number form = 1 << iota
	letter
	stop      // "."
	bracket   // ")"
	enclosed  // "(" in front
	bullet    = 1 << 6
	maxMarker = 3 // digits
)

// markerAt reads the marker at i; the zero marker if there is none. A marker is followed by a space, a bullet
// need not be.
func markerAt(post string, i int) marker {
	r, size := utf8.DecodeRuneInString(post[i:])
	if isBullet(r) {
		return marker{bullet, int(r)}
	}
	m := marker{}
	if r == '(' {
		m.form = enclosed
		i += size
	}
	i = m.read(post, i)
	switch rest := post[i:]; {
	case m.form&(number|letter) == 0:
		return marker{}
	case m.form&enclosed == 0 && strings.HasPrefix(rest, ".) "):
		m.form |= stop | bracket
	case m.form&enclosed == 0 && strings.HasPrefix(rest, ". "):
		m.form |= stop
	case strings.HasPrefix(rest, ") "):
		m.form |= bracket
	default:
		return marker{}
	}
	return m
}

// read reads the number or letter of a marker and returns where it ends.
func (m *marker) read(post string, i int) int {
	start := i
	for i < len(post) && isDigit(post[i]) && i-start < maxMarker {
		m.value = 10*m.value + int(post[i]-'0')
		i++
	}
	if i > start {
		m.form |= number
		return i
	}
	if i < len(post) && isLetter(post[i]) {
		m.form |= letter
		m.value = int(post[i])
		return i + 1
	}
	return i
}

// next says whether m is the item after o in one list.
func (m marker) next(o marker) bool {
	if m.form != o.form || m.form == 0 {
		return false
	}
	return m.form == bullet && m.value == o.value || m.form != bullet && m.value == o.value+1
}

// nextItem says whether the next item of the list on this line begins at i, and notes it.
func (c *cutter) nextItem(i int) bool {
	if i == 0 || c.post[i-1] != ' ' || i <= c.start {
		return false
	}
	m := markerAt(c.post, i)
	if !m.next(c.list) {
		return false
	}
	c.list = m
	return true
}

func isBullet(r rune) bool {
	return r >= utf8.RuneSelf && strings.ContainsRune("•⁃‣▪▫●○◦■□◆◇►▶➤➢✓✔★☆∙", r) && r != utf8.RuneError
}

// onlyMarker says whether word, which begins at start, is the marker of a list item: a short number or a single
// letter at the very beginning of a sentence.
func (c *cutter) onlyMarker(word string, start int) bool {
	if word == "" || len(word) > maxMarker || !c.firstWord(start) || start < c.start {
		return false
	}
	if utf8.RuneCountInString(word) == 1 {
		return true
	}
	return strings.IndexFunc(word, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

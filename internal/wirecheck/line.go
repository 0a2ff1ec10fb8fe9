package wirecheck

import (
	"bytes"
	"errors"
	"fmt"
)

// maxLine bounds a line: a status, an error, the header of a message, what a server says of itself.
const maxLine = 64 << 10

// line gathers a line that comes in pieces.
type line struct{ buf []byte }

// add appends the bytes of p up to a line's end, and returns what is behind it. It reports whether the line is whole;
// then text has it.
func (l *line) add(p []byte) (rest []byte, whole bool, err error) {
	i := bytes.IndexByte(p, '\n')
	part := p
	if i >= 0 {
		part, rest = p[:i+1], p[i+1:]
	}
	if len(l.buf)+len(part) > maxLine {
		return nil, false, fmt.Errorf("a line of more than %d bytes, which begins with %s", maxLine, Shown(append(l.buf, part...)))
	}
	l.buf = append(l.buf, part...)
	return rest, i >= 0, nil
}

// text returns the whole line without its end, and begins a new one. It is valid until the next add.
func (l *line) text() ([]byte, error) {
	text, ok := bytes.CutSuffix(l.buf, []byte("\r\n"))
	if !ok || bytes.IndexByte(text, '\r') >= 0 {
		return nil, fmt.Errorf("a line that does not end in CR LF: %s", Shown(l.buf))
	}
	l.buf = l.buf[:0]
	return text, nil
}

var errLength = errors.New("a length that is no number")

// length reads a decimal number of at most max.
func length(digits []byte, max int64) (int64, error) {
	if len(digits) == 0 {
		return 0, errLength
	}
	var n int64
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, fmt.Errorf("%w: %s", errLength, Shown(digits))
		}
		if n = n*10 + int64(d-'0'); n > max {
			return 0, fmt.Errorf("a length of %s, and the limit is %d", Shown(digits), max)
		}
	}
	return n, nil
}

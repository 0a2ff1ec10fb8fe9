package wirecheck

import (
	"fmt"
	"net"
)

const (
	// maxBulk bounds one string of Redis. What the index stores under a key is a text of at most 4 KiB and some numbers.
	maxBulk = 64 << 20
	// maxReply bounds one reply with all that is in it.
	maxReply = 256 << 20
	// maxElements bounds how many elements of a reply may be outstanding, in all its arrays together: the library makes
	// room for all of an array as soon as it hears how many there are.
	maxElements = 1 << 20
	// maxNesting bounds arrays in arrays, for which the library calls itself.
	maxNesting = 16
)

// Redis wraps a connection to a Redis server, within TLS if there is any.
func Redis(c net.Conn) net.Conn { return &conn{Conn: c, protocol: "Redis", check: &resp{}} }

// resp follows RESP 2 and 3.
type resp struct {
	line    line
	skip    int64   // bytes of a string that are still to come, with its end
	open    []int64 // elements still to come of each array that is open, the innermost last
	pending int64   // their sum
	size    int64   // bytes of the reply so far
}

func (r *resp) sent([]byte) {}

func (r *resp) received(p []byte) error {
	for len(p) > 0 {
		rest, err := r.next(p)
		if err != nil {
			return err
		}
		if r.size += int64(len(p) - len(rest)); r.size > maxReply {
			return fmt.Errorf("a reply of more than %d bytes", int64(maxReply))
		}
		if len(r.open) == 0 && r.skip == 0 && len(r.line.buf) == 0 {
			r.size = 0 // the reply has ended
		}
		p = rest
	}
	return nil
}

func (r *resp) next(p []byte) (rest []byte, err error) {
	if r.skip > 0 {
		return r.string(p), nil
	}
	return r.header(p)
}

// string passes over the bytes of a string.
func (r *resp) string(p []byte) (rest []byte) {
	n := min(r.skip, int64(len(p)))
	if r.skip -= n; r.skip == 0 {
		r.done()
	}
	return p[n:]
}

// header reads the line that every element begins with.
func (r *resp) header(p []byte) (rest []byte, err error) {
	if len(r.line.buf) == 0 && !isType(p[0]) {
		return nil, fmt.Errorf("it says %s", Shown(p))
	}
	rest, whole, err := r.line.add(p)
	if !whole || err != nil {
		return nil, err
	}
	text, err := r.line.text()
	if err != nil {
		return nil, err
	}
	return rest, r.element(text[0], text[1:])
}

func isType(b byte) bool {
	switch b {
	case '+', '-', ':', '_', ',', '#', '(', '$', '!', '=', '*', '~', '>', '%':
		return true
	}
	return false // '|', attributes, among them: no server sends them unasked, and the library calls itself for each
}

func (r *resp) element(kind byte, text []byte) error {
	var max, each int64 = maxElements, 1
	switch kind {
	case '$', '!', '=':
		max = maxBulk
	case '%':
		each = 2 // key and value
	case '*', '~', '>':
	default:
		r.done()
		return nil
	}
	if string(text) == "-1" { // nothing, in RESP 2
		r.done()
		return nil
	}
	n, err := length(text, max)
	if err != nil {
		return fmt.Errorf("%c: %w", kind, err)
	}
	if max == maxBulk {
		r.skip = n + int64(len("\r\n"))
		return nil
	}
	return r.array(n * each)
}

func (r *resp) array(n int64) error {
	if n == 0 {
		r.done()
		return nil
	}
	if r.pending += n; r.pending > maxElements {
		return fmt.Errorf("a reply with more than %d elements to come", maxElements)
	}
	if r.open = append(r.open, n); len(r.open) > maxNesting {
		return fmt.Errorf("arrays nested more than %d deep", maxNesting)
	}
	return nil
}

// done ends an element, and with the last one of an array the array.
func (r *resp) done() {
	for len(r.open) > 0 {
		last := len(r.open) - 1
		r.pending--
		if r.open[last]--; r.open[last] > 0 {
			return
		}
		r.open = r.open[:last]
	}
}

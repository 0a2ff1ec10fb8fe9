package frames

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// walker walks through an answer. After the first thing that does not fit it stays where it is.
type walker struct {
	b       []byte // what is still ahead
	compact bool   // lengths are variable, and 1 too high
	err     error
}

var errShort = errors.New("it ends in the middle of a field")

func (w *walker) fail(err error) {
	if w.err == nil {
		w.b, w.err = nil, err
	}
}

// next returns the next n bytes; nil if there are not as many.
func (w *walker) next(n int) []byte {
	if w.err != nil {
		return nil
	}
	if n < 0 || n > len(w.b) {
		w.fail(fmt.Errorf("%w: a length of %d, and %d bytes are left", errShort, n, len(w.b)))
		return nil
	}
	b := w.b[:n]
	w.b = w.b[n:]
	return b
}

func (w *walker) int16() int16 {
	if b := w.next(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (w *walker) int32() int32 {
	if b := w.next(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// uvarint reads a number of variable length that counts something: more than int32 holds is nothing's length.
func (w *walker) uvarint() int {
	n, size := binary.Uvarint(w.b)
	if size <= 0 || n > 1<<31-1 {
		w.fail(fmt.Errorf("%w: a length that is none", errShort))
		return 0
	}
	w.b = w.b[size:]
	return int(n)
}

// varint reads a signed number of variable length.
func (w *walker) varint() int64 {
	n, size := binary.Varint(w.b)
	if size <= 0 {
		w.fail(fmt.Errorf("%w: a number that is none", errShort))
		return 0
	}
	w.b = w.b[size:]
	return n
}

// string and bytes: a length below 0, or a compact one of 0, is that of nothing.
func (w *walker) string() {
	n := 0
	if w.compact {
		n = w.uvarint() - 1
	} else {
		n = int(w.int16())
	}
	w.next(max(n, 0))
}

func (w *walker) bytes() []byte {
	return w.next(max(w.count(), 0))
}

func (w *walker) count() int {
	if w.compact {
		return w.uvarint() - 1
	}
	return int(w.int32())
}

// array walks through the elements, if there is room for all that it claims to have.
func (w *walker) array(each step) {
	n := w.count()
	if n > len(w.b)/max(each.min, 1) {
		w.fail(fmt.Errorf("an array of %d elements, and %d bytes are left", n, len(w.b)))
	}
	for i := 0; i < n && w.err == nil; i++ {
		each.walk(w)
	}
}

// tags walks through tagged fields. The library decodes those that it knows by their type, whatever their size says.
func (w *walker) tags(known map[uint64]step) {
	n := w.uvarint()
	if n > len(w.b)/2 {
		w.fail(fmt.Errorf("%d tagged fields, and %d bytes are left", n, len(w.b)))
	}
	for i := 0; i < n && w.err == nil; i++ {
		id, size := w.uvarint(), w.uvarint()
		if s, ok := known[uint64(id)]; ok {
			s.walk(w)
		} else {
			w.next(size)
		}
	}
}

// inner walks through bytes with a layout of their own, whose lengths are not compact. There may be none.
func (w *walker) inner(b []byte, layout func(*walker)) {
	if len(b) == 0 || w.err != nil {
		return
	}
	inside := &walker{b: b}
	layout(inside)
	if inside.err != nil {
		w.fail(inside.err)
	}
}

var (
	name   = step{func(w *walker) { w.string() }, 2}
	number = skip(4)
)

// assignment is what a member of a group has to read.
func assignment(w *walker) {
	w.int16()
	w.array(step{func(w *walker) { w.string(); w.array(number) }, 2 + 4})
	w.bytes()
}

// subscription is what a member of a group wants to read.
func subscription(w *walker) {
	w.int16()
	w.array(name)
	w.bytes()
}

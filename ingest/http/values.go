package http

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"refrain/ingest"
)

// valueScanner cuts a body into JSON values: the elements of an array, or objects one after the other with
// nothing but white space between them.
//
// It only matches brackets and quotes, so that an element that is wrong inside spoils itself alone. Where the
// structure around the elements is wrong there is no telling what belongs where: the rest is one bad record.
type valueScanner struct {
	r       *bufio.Reader
	limit   int
	array   bool // the opening bracket has been read
	n       int  // values so far
	ended   bool
	buf     []byte
	tooLong bool
	grow    func(n int) error // is asked before the record has more than n bytes
}

func (s *valueScanner) next() (record, error) {
	if s.ended {
		return record{}, io.EOF
	}
	s.n++
	s.buf, s.tooLong = emptied(s.buf), false
	c, err := s.skip()
	switch {
	case err == io.EOF && s.array:
		return s.broken("the array is not closed")
	case err != nil:
		return record{}, err
	case !s.array:
		return s.object(c)
	case c == ']':
		return s.afterArray()
	case s.n == 1:
		return s.element(c)
	case c != ',':
		return s.broken("no comma between two elements")
	}
	if c, err = s.skip(); err != nil {
		return s.truncated(err)
	}
	return s.element(c)
}

// afterArray expects nothing but the end.
func (s *valueScanner) afterArray() (record, error) {
	s.ended = true
	if _, err := s.skip(); err != nil {
		return record{}, err
	}
	return s.broken("something follows the array")
}

// broken ends the body with one bad record for all that is left of it.
func (s *valueScanner) broken(reason string) (record, error) {
	s.ended = true
	return record{line: s.n, raw: s.buf, err: errors.New(reason + "; the rest was not read")}, nil
}

// truncated turns an end inside a value into a bad record.
func (s *valueScanner) truncated(err error) (record, error) {
	if err == io.EOF {
		return s.broken("the JSON ends too early")
	}
	return record{}, err
}

func (s *valueScanner) object(c byte) (record, error) {
	_ = s.append(c) // one byte needs no room
	if c != '{' {
		return s.broken(fmt.Sprintf("want a JSON object, found %q", c))
	}
	return s.value(s.container())
}

func (s *valueScanner) element(c byte) (record, error) {
	_ = s.append(c) // one byte needs no room
	switch c {
	case '{', '[':
		return s.value(s.container())
	case '"':
		return s.value(s.text())
	case ',', ']':
		return s.broken("an element is missing")
	}
	return s.value(s.scalar())
}

// value is the record of what has been read, unless reading it ended in err.
func (s *valueScanner) value(err error) (record, error) {
	if err != nil {
		return s.truncated(err)
	}
	rec := record{line: s.n, raw: s.buf}
	if s.tooLong {
		rec.err = ingest.TooLong(s.limit)
	}
	return rec, nil
}

// container reads to the bracket that closes the one just read.
func (s *valueScanner) container() error {
	for depth := 1; depth > 0; {
		c, err := s.readByte()
		if err != nil {
			return err
		}
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if err := s.text(); err != nil {
				return err
			}
		}
	}
	return nil
}

// text reads to the quote that closes the one just read.
func (s *valueScanner) text() error {
	for {
		c, err := s.readByte()
		if err == nil && c == '\\' {
			_, err = s.readByte()
		}
		if err != nil || c == '"' {
			return err
		}
	}
}

// scalar reads up to the byte before the next separator.
func (s *valueScanner) scalar() error {
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return err
		}
		if c == ',' || c == ']' || isSpace(c) {
			return s.r.UnreadByte()
		}
		if err := s.append(c); err != nil {
			return err
		}
	}
}

func (s *valueScanner) readByte() (byte, error) {
	c, err := s.r.ReadByte()
	if err == nil {
		err = s.append(c)
	}
	return c, err
}

func (s *valueScanner) append(c byte) error {
	if len(s.buf) == s.limit {
		s.tooLong = true
		return nil
	}
	if len(s.buf) == cap(s.buf) {
		if err := s.grow(len(s.buf)); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, c)
	return nil
}

// skip returns the next byte that is not white space.
func (s *valueScanner) skip() (byte, error) {
	for {
		c, err := s.r.ReadByte()
		if err != nil || !isSpace(c) {
			return c, err
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

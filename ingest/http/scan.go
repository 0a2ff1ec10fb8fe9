package http

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"refrain/ingest"
)

// record is one would-be post of a body: its bytes, valid until the next call of the scanner, or what is wrong
// with them before anybody looks inside.
type record struct {
	line int // the line in NDJSON, the number among the values otherwise; from 1
	raw  []byte
	err  error
}

func (rec *record) location() string { return fmt.Sprintf("POST /v1/posts:%d", rec.line) }

// scanner cuts a body into records. Its error is io.EOF at the end, or why the body could not be read on.
type scanner interface {
	next() (record, error)
}

// lineScanner cuts at line ends. Blank lines count but yield nothing.
type lineScanner struct {
	r     *bufio.Reader
	limit int // bytes of one line
	line  int
	buf   []byte
	grow  func(n int) error // is asked before the record has more than n bytes
}

func (s *lineScanner) next() (record, error) {
	for {
		length, err := s.read()
		if err != nil && (err != io.EOF || length == 0) { // also where there is no room for the line
			return record{}, err
		}
		s.line++
		rec := record{line: s.line, raw: bytes.TrimSpace(s.buf)}
		if length > s.limit {
			rec.err = ingest.TooLong(s.limit)
		}
		if len(rec.raw) > 0 || rec.err != nil {
			return rec, nil
		}
	}
}

// read fills buf with the next line, without what is beyond limit, and returns its whole length.
func (s *lineScanner) read() (length int, err error) {
	s.buf = emptied(s.buf)
	for {
		part, err := s.r.ReadSlice('\n')
		length += len(part)
		if err := s.grow(min(length, s.limit)); err != nil {
			return length, err
		}
		s.buf = append(s.buf, part[:min(len(part), max(0, s.limit-len(s.buf)))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return length, err
		}
	}
}

// emptied is a buffer for the next record. That of a large one goes: room is held for it no longer.
func emptied(b []byte) []byte {
	if cap(b) > 2*smallRecord {
		return nil
	}
	return b[:0]
}

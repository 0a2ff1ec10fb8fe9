package joining

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"refrain/ingest/file"
)

// integers reads sets of them. Tokens have 64 bits: negative ones stand for the largest, which must not come too then.
type integers struct{ negative, large int64 } // lines that have such, from 1; 0: none

// append reads the whole numbers of a line, with white space between them.
func (x *integers) append(dst []uint64, line file.Line) ([]uint64, error) {
	for field := range bytes.FieldsSeq(line.Text) {
		n, ok := usual(field)
		if !ok {
			var err error
			if n, err = x.unusual(field, line.Number); err != nil {
				return dst, err
			}
		}
		dst = append(dst, n)
	}
	return dst, nil
}

// usual reads a number of digits that cannot overflow.
func usual(field []byte) (n uint64, ok bool) {
	const digits = 18
	for _, c := range field {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n, len(field) <= digits
}

func (x *integers) unusual(field []byte, line int64) (uint64, error) {
	s := string(field)
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		if n>>63 != 0 {
			x.large = cmp.Or(x.large, line)
		}
		return n, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%.40q has more than 64 bits", s)
	case err != nil:
		return 0, fmt.Errorf("%.40q is no whole number: want such with spaces between them", s)
	case n < 0:
		x.negative = cmp.Or(x.negative, line)
	}
	return uint64(n), nil
}

// or adds what later lines have.
func (x *integers) or(y integers) {
	x.negative, x.large = cmp.Or(x.negative, y.negative), cmp.Or(x.large, y.large)
}

// check refuses numbers that would be taken for one another.
func (x *integers) check(path string) error {
	if x.negative == 0 || x.large == 0 {
		return nil
	}
	return fmt.Errorf("%s:%d: has a negative number, and line %d one of 2^63 or more: want one or the other", path, x.negative, x.large)
}

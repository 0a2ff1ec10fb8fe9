package sigstore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"

	"refrain/feed"
	"refrain/internal/chunks"
)

// input reads what Capture wrote. It keeps the first error; after that it yields zeros.
type input struct {
	r interface {
		io.Reader
		io.ByteReader
	}
	err     error
	full    func() bool // the window holds more than its budget
	scratch [rowSize]byte
}

func newInput(r io.Reader) *input { return &input{r: bufio.NewReaderSize(r, chunks.MaxChunk)} }

func (in *input) fail(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = damaged("it ends too soon")
	}
	if in.err == nil {
		in.err = err
	}
}

func (in *input) checkBudget() {
	if in.err == nil && in.full() {
		in.err = ErrBudget
	}
}

func (in *input) byte() byte {
	if in.err != nil {
		return 0
	}
	b, err := in.r.ReadByte()
	if err != nil {
		in.fail(err)
	}
	return b
}

func (in *input) uvarint(limit uint64, what string) uint64 {
	if in.err != nil {
		return 0
	}
	v, err := binary.ReadUvarint(in.r)
	if err != nil {
		in.fail(err)
		return 0
	}
	if v > limit {
		in.fail(damaged(what))
		return 0
	}
	return v
}

func (in *input) count(what string) int { return int(in.uvarint(math.MaxInt32, what)) }

func (in *input) varint() int64 {
	if in.err != nil {
		return 0
	}
	v, err := binary.ReadVarint(in.r)
	if err != nil {
		in.fail(err)
	}
	return v
}

func (in *input) time() feed.Time { return feed.Time(in.varint()) }

// bytes reads so many, a little at a time: more than there is cannot be asked for.
func (in *input) bytes(n int) (b []byte) {
	for len(b) < n && in.err == nil {
		some := min(n-len(b), chunks.MaxChunk)
		b = slices.Grow(b, min(n-len(b), max(some, len(b))))[:len(b)+some]
		in.read(b[len(b)-some:])
	}
	return b
}

func (in *input) read(b []byte) {
	if in.err == nil {
		if _, err := io.ReadFull(in.r, b); err != nil {
			in.fail(err)
		}
	}
}

func (in *input) string() string { return string(in.bytes(in.count("the length of a name"))) }

func (in *input) uint32() uint32 {
	b := in.fixed(4)
	return binary.LittleEndian.Uint32(b)
}

func (in *input) uint64() uint64 {
	b := in.fixed(8)
	return binary.LittleEndian.Uint64(b)
}

// fixed reads so many bytes, to be used at once; zeros after an error.
func (in *input) fixed(n int) []byte {
	b := in.scratch[:n]
	if in.read(b); in.err != nil {
		clear(b)
	}
	return b
}

// end wants nothing to come any more.
func (in *input) end() error {
	if in.err != nil {
		return in.err
	}
	switch _, err := in.r.ReadByte(); {
	case err == nil:
		return damaged("it goes on behind its end")
	case err != io.EOF:
		return err
	}
	return nil
}

package blocks

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/minio/highwayhash"
)

// The format of a block file, as nats-server 2.15 writes it (server/filestore.go; all numbers little endian):
//
//	block  = record*
//	record = length:4 sequence:8 time:8 subject length:2  subject  [header length:4 header] data  checksum:8
//	         the top bit of length says that there is a header; length is that of the whole record
//
// checksum is the highwayhash-64 of sequence, time, subject, header and data, with the SHA-256 of "STREAM-BLOCK" as its
// key: not of the three lengths. The top bit of a sequence marks an erased record, the next one a note that a record of
// an earlier block was deleted. A header begins with NATS/1.0 and ends with an empty line.

const (
	recordHead   = 22
	checksumSize = 8
	hasHeader    = 1 << 31 // in length
	erased       = 1 << 63 // in sequence
	deletion     = 1 << 62
	maxRecord    = 32 << 20
)

// Record is a record of a block. Its bytes are those of the block, which is read anew for the next one.
type Record struct {
	Offset  int64
	Seq     uint64
	Message bool // not erased, nor a note of a deletion
	Subject string
	Header  []byte // with its first line; nil: there is none
	Data    []byte
	Size    int // of the whole record
}

// parser reads the records of a block.
type parser struct {
	block []byte
	hash  *highwayhash.Digest64
}

func newParser(stream string, number int, block []byte) parser {
	return parser{block, newHash(fmt.Sprintf("%s-%d", stream, number))}
}

// newHash never fails: the key has the right length.
func newHash(name string) *highwayhash.Digest64 {
	key := sha256.Sum256([]byte(name))
	h, _ := highwayhash.NewDigest64(key[:])
	return h
}

// frame is the bytes of a record, and what its lengths say.
type frame struct {
	bytes      []byte
	subject    int // its length
	withHeader bool
}

// frame finds where the record at an offset ends; why says why none begins there. torn means that it goes on beyond the
// end of the file.
func (p *parser) frame(at int) (f frame, torn bool, why string) {
	b, le := p.block[at:], binary.LittleEndian
	if len(b) < recordHead {
		return f, true, "the file ends within a record"
	}
	length := le.Uint32(b)
	f.subject, f.withHeader = int(le.Uint16(b[20:])), length&hasHeader != 0
	length &^= hasHeader
	least := recordHead + f.subject + checksumSize
	if f.withHeader {
		least += 4
	}
	switch {
	case length > maxRecord || int(length) < least:
		return f, false, fmt.Sprintf("no record begins here (its length would be %d)", length)
	case int(length) > len(b):
		return f, true, "the file ends within a record"
	}
	f.bytes = b[:length]
	return f, false, ""
}

// record reads the one at an offset; torn and why are those of frame.
func (p *parser) record(at int) (r Record, torn bool, why string) {
	f, torn, why := p.frame(at)
	if why != "" {
		return r, torn, why
	}
	b, le, header := f.bytes, binary.LittleEndian, 0
	subject, data := b[recordHead:recordHead+f.subject], b[recordHead+f.subject:len(b)-checksumSize]
	if f.withHeader {
		header, data = int(le.Uint32(data)), data[4:]
	}
	if !p.matches(b[4:20], subject, data, b[len(b)-checksumSize:]) {
		return r, false, "checksum mismatch"
	}
	if f.withHeader && !isHeader(data, header) {
		return r, false, fmt.Sprintf("its header does not end after %d bytes", header)
	}
	seq := le.Uint64(b[4:])
	return Record{
		Offset: int64(at), Seq: seq &^ (erased | deletion), Message: seq&(erased|deletion) == 0 && seq != 0,
		Subject: string(subject), Header: data[:header:header], Data: data[header:], Size: len(b),
	}, false, ""
}

func (p *parser) matches(head, subject, rest, sum []byte) bool {
	p.hash.Reset()
	for _, part := range [][]byte{head, subject, rest} {
		p.hash.Write(part)
	}
	var out [highwayhash.Size64]byte
	return bytes.Equal(p.hash.Sum(out[:0]), sum)
}

func isHeader(b []byte, n int) bool {
	return n >= 0 && n <= len(b) && bytes.HasPrefix(b[:n], []byte("NATS/1.0")) && bytes.HasSuffix(b[:n], []byte("\r\n\r\n")) &&
		bytes.Index(b[:n], []byte("\r\n\r\n")) == n-4
}

// next finds the record after damage: the first place from there on where one begins whose sequence is plausible. It gives
// up before data that was made to look like records can hold it up.
func (p *parser) next(at int, last uint64) (r Record, found bool) {
	for tried := 0; at+recordHead+checksumSize <= len(p.block) && tried < maxTried; at++ {
		b := p.block[at:]
		seq, length := binary.LittleEndian.Uint64(b[4:])&^(erased|deletion), binary.LittleEndian.Uint32(b)&^hasHeader
		if seq > last && seq-last > maxSkip || length > maxRecord || int(length) > len(b) {
			continue
		}
		if r, _, why := p.record(at); why == "" {
			return r, true
		}
		tried += int(length)
	}
	return r, false
}

const (
	maxSkip  = 1 << 20   // sequences that damage within a block can hide
	maxTried = 256 << 20 // bytes
)

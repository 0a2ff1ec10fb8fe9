package blocks

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

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
	minRecord    = recordHead + checksumSize
	maxRecord    = 32 << 20
	hasHeader    = 1 << 31 // in length
	erased       = 1 << 63 // in sequence
	deletion     = 1 << 62
)

// Record is a record of a block. Its bytes are those of the block, which is read anew for the next one.
type Record struct {
	Offset  int64
	Seq     uint64
	Message bool // not erased, nor a note of a deletion
	Subject []byte
	Header  []byte // with its first line; nil: there is none
	Data    []byte
	Size    int // of the whole record

	erased bool
}

// parser reads the records of a block.
type parser struct {
	block    []byte
	hash     *highwayhash.Digest64
	subjects []byte // how those of messages begin
}

func newParser(stream string, number int, block []byte) parser {
	subjects := stream + "."
	if bucket, ok := strings.CutPrefix(stream, "KV_"); ok {
		subjects = "$KV." + bucket + "."
	}
	return parser{block, newHash(fmt.Sprintf("%s-%d", stream, number)), []byte(subjects)}
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
	minLength := minRecord + f.subject
	if f.withHeader {
		minLength += 4
	}
	switch {
	case length > maxRecord || int(length) < minLength:
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
	r = Record{
		Offset: int64(at), Seq: seq &^ (erased | deletion), Message: seq&(erased|deletion) == 0 && seq != 0,
		Subject: subject, Header: data[:header:header], Data: data[header:], Size: len(b), erased: seq&erased != 0,
	}
	if r.Message && !p.isSubject(subject) {
		return r, false, fmt.Sprintf("its subject is not of the stream (it would have %d bytes)", f.subject)
	}
	return r, false, ""
}

func (p *parser) matches(head, subject, rest, sum []byte) bool {
	p.hash.Reset()
	p.hash.Write(head)
	p.hash.Write(subject)
	p.hash.Write(rest)
	return p.hash.Sum64() == binary.LittleEndian.Uint64(sum)
}

func isHeader(b []byte, n int) bool {
	return n >= 0 && n <= len(b) && bytes.HasPrefix(b[:n], []byte("NATS/1.0")) && bytes.HasSuffix(b[:n], []byte("\r\n\r\n")) &&
		bytes.Index(b[:n], []byte("\r\n\r\n")) == n-4
}

// isSubject holds what the checksum does not: without a header, a subject of another length takes bytes from the data, or
// leaves it some. A topic has the subjects NAME.PARTITION, a bucket $KV.BUCKET.KEY.
func (p *parser) isSubject(subject []byte) bool {
	last, ok := bytes.CutPrefix(subject, p.subjects)
	low, high := byte('0'), byte('9')
	if p.subjects[0] == '$' {
		low, high = '!', '~'
	}
	for _, c := range last {
		ok = ok && low <= c && c <= high
	}
	return ok && len(last) > 0
}

// next finds the record after the damaged one at an offset; last is the sequence before it. Where the damaged one's own
// length leads to the record after the next it is believed. Otherwise it is the first place from which on a whole record
// is: its sequence must be plausible, for data may have been made to look like records. exact means that none follows
// because the damaged one ends with the file.
func (p *parser) next(at int, last uint64) (r Record, found, exact bool) {
	if f, _, why := p.frame(at); why == "" {
		end, seq := at+len(f.bytes), binary.LittleEndian.Uint64(f.bytes[4:])
		if end == len(p.block) && seq&^(erased|deletion) == last+1 {
			return r, false, true
		}
		if r, _, why := p.record(end); end < len(p.block) && why == "" && r.Seq == last+2 {
			return r, true, false
		}
		exact = end == len(p.block)
	}
	if r, found = p.search(at+minRecord, last); found { // Repair needs room for an erased one
		return r, true, false
	}
	return r, false, exact || p.fillsRest(at)
}

// search gives up before data that was made to look like records can hold it up.
func (p *parser) search(at int, last uint64) (r Record, found bool) {
	for tried := 0; at+minRecord <= len(p.block) && tried < maxTried; at++ {
		b := p.block[at:]
		bits, length := binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint32(b)&^hasHeader
		if seq := bits &^ (erased | deletion); seq > last+maxSkip || bits == seq && seq <= last || int(length) > len(b) {
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

// fillsRest reports whether the rest of the block is one record but for its lengths, which no checksum covers. Without a
// header that of the subject does not matter.
func (p *parser) fillsRest(at int) bool {
	b := p.block[at:]
	if len(b) < minRecord || len(b) > maxRecord {
		return false
	}
	body, sum, subject := b[recordHead:len(b)-checksumSize], b[len(b)-checksumSize:], int(binary.LittleEndian.Uint16(b[20:]))
	return p.matches(b[4:20], nil, body, sum) ||
		subject+4 <= len(body) && p.matches(b[4:20], body[:subject], body[subject+4:], sum)
}

// isNote reports whether a damaged record is a note of a deletion: without subject and data.
func (p *parser) isNote(at int) bool {
	return at+minRecord <= len(p.block) && binary.LittleEndian.Uint32(p.block[at:]) == minRecord
}

// ownSequence is the one that a damaged record gives itself, 0 where that is implausible.
func (p *parser) ownSequence(at int) uint64 {
	if at+recordHead > len(p.block) {
		return 0
	}
	if seq := binary.LittleEndian.Uint64(p.block[at+4:]) &^ (erased | deletion); seq < 1<<50 {
		return seq
	}
	return 0
}

// Package blocks reads the files of an embedded server's streams while no server runs.
//
// A server (nats-server 2.15) that was not stopped in order reads all blocks at its next start, and cuts each off at the
// first record whose checksum is wrong, with all that follows in the block and without a word. One that was stopped in
// order trusts its index. Then such a record is left out when it is read, without a word too; it never expires, and what
// comes after it neither; the write that should make room for another by removing it fails, and with it all later ones;
// and in a key-value bucket a further value of its key holds the server in a loop. So whoever wants to know has to look
// here, before the server does; and Repair leaves it nothing that it would fail on.
//
// Streams are those of topic/jetstream: a topic, in which only limits remove messages, the oldest first, or a bucket
// KV_*, in which a value replaces the one before.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package blocks

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Dir is where the streams of a data directory are, a folder each.
func Dir(data string) string { return filepath.Join(data, "jetstream", "$G", "streams") }

// Streams names the streams of a data directory.
func Streams(data string) (names []string, err error) {
	entries, err := os.ReadDir(Dir(data))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Range is the sequences from First to Last.
type Range struct{ First, Last uint64 }

// Len is how many there are.
func (r Range) Len() int64 { return int64(r.Last - r.First + 1) }

// Damage is a part of a file that is not as it was written.
type Damage struct {
	File   string
	Offset int64
	Reason string

	until int64  // where Repair's blank ends: at the next whole record, or with the file; 0: there is none
	last  uint64 // the sequence that the stream must not give again, where nothing whole follows; 0: what follows tells
}

// Block reports whether it is messages that are damaged, not what is made from them.
func (d *Damage) Block() bool { return filepath.Ext(d.File) == ".blk" }

// Stream is what the files of a stream hold.
type Stream struct {
	Name     string
	Bytes    int64
	Records  int64   // that are whole
	Messages int64   // among them
	Range            // of the sequences of messages; Last is below First where there are none
	Missing  []Range // sequences that no message has, though one should: in order
	Torn     bool    // the last record is not whole: the process was killed as it wrote it, before it was acknowledged
	Damage   []Damage

	// Clean says that the server was stopped in order, and Indexed what its index holds then; otherwise Indexed is what
	// it held some time before, if there was one.
	Clean   bool
	Indexed Index

	dir   string
	buf   []byte
	visit func(file string, r Record) error

	begin uint64 // the sequence of a damaged record before all messages, as far as it can be read
	end   uint64 // the last sequence of an erased record or a damaged one
}

// Index is what the head of index.db says of a stream; zero without any.
type Index struct {
	Messages int64
	Range
}

// Scan reads a stream, a block at a time. visit gets each record that is whole, and must not keep its bytes; an error of
// it ends the scan. nil: nobody wants them. A *LayoutError says that the stream is not one that can be looked at.
func Scan(data, name string, visit func(file string, r Record) error) (*Stream, error) {
	s := &Stream{Name: name, Range: Range{First: 1}, dir: filepath.Join(Dir(data), name), visit: visit}
	if s.visit == nil {
		s.visit = func(string, Record) error { return nil }
	}
	if err := s.scan(); err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, err)
	}
	s.buf = nil
	return s, nil
}

func (s *Stream) scan() error {
	if err := s.checkLayout(); err != nil {
		return err
	}
	numbers, err := s.blocks()
	if err != nil {
		return err
	}
	if err := errors.Join(s.checkMeta(), s.checkIndex(numbers)); err != nil {
		return err
	}
	for i, n := range numbers {
		if err := s.block(n, i == len(numbers)-1); err != nil {
			return err
		}
	}
	s.addMissing()
	return nil
}

func (s *Stream) damaged(file string, offset int64, format string, args ...any) *Damage {
	s.Damage = append(s.Damage, Damage{File: file, Offset: offset, Reason: fmt.Sprintf(format, args...)})
	return &s.Damage[len(s.Damage)-1]
}

func (s *Stream) messages() string { return filepath.Join(s.dir, "msgs") }

func (s *Stream) index() string { return filepath.Join(s.messages(), "index.db") }

func (s *Stream) file(block int) string {
	return filepath.Join(s.messages(), fmt.Sprintf("%d.blk", block))
}

// blocks are the numbers of the blocks, in order.
func (s *Stream) blocks() (numbers []int, err error) {
	entries, err := os.ReadDir(s.messages())
	if errors.Is(err, fs.ErrNotExist) {
		s.damaged(s.messages(), 0, "missing")
		return nil, nil
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".key" {
			return nil, &LayoutError{filepath.Join(s.messages(), e.Name()), "the stream is encrypted"}
		}
		number, isBlock := strings.CutSuffix(e.Name(), ".blk")
		if n, err := strconv.Atoi(number); isBlock && err == nil && strconv.Itoa(n) == number {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// checkMeta looks at the description of the stream.
func (s *Stream) checkMeta() error {
	path := filepath.Join(s.dir, "meta.inf")
	meta, err := os.ReadFile(path)
	sum, errSum := os.ReadFile(filepath.Join(s.dir, "meta.sum"))
	if err = errors.Join(err, errSum); errors.Is(err, fs.ErrNotExist) {
		s.damaged(path, 0, "it is missing, or its checksum")
		return nil
	}
	if err != nil {
		return err
	}
	h := newHash(s.Name)
	h.Write(meta)
	if hex.EncodeToString(h.Sum(nil)) != string(sum) {
		s.damaged(path, 0, "checksum mismatch")
	}
	return nil
}

// checkIndex reads the index: magic:1 version:1 messages:u bytes:u first:u time:v last:u ... checksum of the last
// record:8 checksum:8. Without one the server was not stopped in order, which is no damage.
func (s *Stream) checkIndex(blocks []int) error {
	b, err := os.ReadFile(s.index())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	body := len(b) - checksumSize
	if body < 24 {
		s.damaged(s.index(), 0, "%d bytes; the server makes it again", len(b))
		return nil
	}
	h := newHash(s.Name)
	h.Write(b[:body])
	if !bytes.Equal(h.Sum(nil), b[body:]) {
		s.damaged(s.index(), 0, "checksum mismatch; the server makes it again")
		return nil
	}
	if err := checkIndexVersion(s.index(), b); err != nil {
		return err
	}
	s.Indexed = readIndex(b[2:body])
	last, err := s.lastChecksum(blocks)
	s.Clean = bytes.Equal(b[body-checksumSize:body], last)
	return err
}

func readIndex(b []byte) Index {
	var numbers [5]uint64
	for i := range numbers { // the fourth is a time, of the same length
		v, n := binary.Uvarint(b)
		numbers[i], b = v, b[max(n, 0):]
	}
	return Index{int64(numbers[0]), Range{numbers[2], numbers[4]}}
}

// lastChecksum is what the last block ends with: zeros, where it has no record.
func (s *Stream) lastChecksum(blocks []int) ([]byte, error) {
	if len(blocks) == 0 {
		return nil, nil
	}
	f, err := os.Open(s.file(blocks[len(blocks)-1]))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := make([]byte, checksumSize)
	info, err := f.Stat()
	if err != nil || info.Size() < checksumSize {
		return sum, err
	}
	_, err = f.ReadAt(sum, info.Size()-checksumSize)
	return sum, err
}

// load reads a block into the buffer of the scan.
func (s *Stream) load(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if size > maxBlock || !info.Mode().IsRegular() {
		return nil, &LayoutError{path, fmt.Sprintf("%d bytes: no block of a server", size)}
	}
	s.buf = slices.Grow(s.buf[:0], int(size))[:size]
	if _, err := io.ReadFull(f, s.buf); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if bytes.HasPrefix(s.buf, []byte(compressed)) {
		return nil, &LayoutError{path, "the block is compressed"}
	}
	return s.buf, nil
}

// block reads the records of one block.
func (s *Stream) block(number int, newest bool) error {
	path := s.file(number)
	b, err := s.load(path)
	if err != nil {
		return err
	}
	s.Bytes += int64(len(b))
	p, whole := newParser(s.Name, number, b), s.Records
	for at := 0; at < len(b); {
		r, torn, why := p.record(at)
		if why == "" {
			if err := s.add(path, r); err != nil {
				return err
			}
			at += r.Size
			continue
		}
		next, found, exact := p.next(at, s.highest())
		switch {
		case found:
			s.damaged(path, int64(at), "%s", why).until = next.Offset
			s.observeBegin(&p, at)
			at = int(next.Offset)
			continue
		case torn && newest && !exact && !s.Clean:
			s.Torn = true
		default:
			s.addTail(&p, tail{path: path, at: at, why: why, newest: newest, exact: exact, others: s.Records > whole})
		}
		break
	}
	return nil
}

// tail is damage after which no whole record follows in a block.
type tail struct {
	path   string
	at     int // offset in the block
	why    string
	newest bool // the block is the last of the stream
	exact  bool // the damage is one record, which ends with the file
	others bool // the block has whole records before it
}

// addTail adds a tail. The server would cut it off. It is blanked where enough is known of it: that there was one record,
// or that there are others in a block that another one follows, or up to which sequence the index goes. Without, it may
// be what a power cut has left, or of a kind that is not known.
func (s *Stream) addTail(p *parser, t tail) {
	d := s.damaged(t.path, int64(t.at), "%s", t.why)
	s.observeBegin(p, t.at)
	if !s.isBlankable(len(p.block)-t.at, t) {
		if t.newest && !p.isNote(t.at) {
			s.end = s.highest() + 1
		}
		return
	}
	if d.until = int64(len(p.block)); t.newest {
		d.last = s.lastSequence(p, t.at)
		s.end = max(s.end, d.last)
	}
}

// isBlankable reports whether enough is known of a tail of so many bytes.
func (s *Stream) isBlankable(size int, t tail) bool {
	return size >= minRecord && size <= maxRecord && (t.exact || t.others && (!t.newest || s.Clean))
}

// lastSequence is that of the damaged record which ends a stream. It is 0 where a message that is whole has it: an erased
// record of the same sequence would erase that.
func (s *Stream) lastSequence(p *parser, at int) (last uint64) {
	switch {
	case s.Clean:
		last = s.Indexed.Last
	case s.highest() == 0:
		last = max(p.ownSequence(at), 1)
	case !p.isNote(at):
		last = s.highest() + 1
	}
	if last <= s.highest() {
		return 0
	}
	return last
}

// highest is the last sequence of the records so far.
func (s *Stream) highest() uint64 { return max(s.Last, s.end) }

// observeBegin records damage before all messages.
func (s *Stream) observeBegin(p *parser, at int) {
	if s.Messages == 0 && s.begin == 0 && !p.isNote(at) {
		s.begin = max(p.ownSequence(at), 1)
	}
}

// add counts a record that is whole.
func (s *Stream) add(file string, r Record) error {
	s.Records++
	if r.erased {
		s.end = max(s.end, r.Seq)
	}
	if r.Message && r.Seq > s.Last {
		if s.Messages == 0 {
			s.First = r.Seq
		} else if r.Seq > s.Last+1 {
			s.Missing = append(s.Missing, Range{s.Last + 1, r.Seq - 1})
		}
		s.Messages++
		s.Last = r.Seq
	}
	return s.visit(file, r)
}

// addMissing adds what is missing before the first message and after the last.
func (s *Stream) addMissing() {
	begin, end := s.expected()
	if s.Messages == 0 {
		if 0 < begin && begin <= end {
			s.Missing = []Range{{begin, end}}
		}
		return
	}
	if 0 < begin && begin < s.First {
		s.Missing = slices.Insert(s.Missing, 0, Range{begin, s.First - 1})
	}
	if end > s.Last {
		s.Missing = append(s.Missing, Range{s.Last + 1, end})
	}
}

// expected is the first and the last message that should be there, as far as damage and the index tell.
func (s *Stream) expected() (begin, end uint64) {
	begin, end = s.First, max(s.Last, s.end)
	if s.begin > 0 && (s.begin >= s.First || s.First-s.begin > maxSkip) {
		begin = s.First - 1 // what the damaged record says of itself is wrong
	} else if s.begin > 0 {
		begin = s.begin
	}
	if s.Messages == 0 {
		begin, end = s.begin, max(s.begin, s.end)
	}
	if s.Indexed.Messages > 0 && (s.Clean || s.Messages > 0 || s.begin > 0 || s.Records == 0) {
		end = max(end, s.Indexed.Last)
	}
	if s.Indexed.Messages > 0 && (s.Clean || s.Records == 0) {
		begin = s.Indexed.First
	}
	return begin, end
}

// Union puts ranges in order, each sequence once.
func Union(ranges []Range) (out []Range) {
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	for _, r := range ranges {
		if n := len(out); n > 0 && r.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// Sum is how many sequences ranges have, none of them twice.
func Sum(ranges []Range) (n int64) {
	for _, r := range ranges {
		n += r.Len()
	}
	return n
}

// Package blocks reads the files of an embedded server's streams while no server runs.
//
// A server (nats-server 2.15) that was not stopped in order reads all blocks at its next start, and cuts each off at the
// first record whose checksum is wrong, with all that follows in the block and without a word. One that was stopped in
// order trusts its index. Then such a record is left out when it is read, without a word too; it never expires, and what
// comes after it neither; the write that should make room for another by removing it fails, and with it all later ones;
// and in a key-value bucket a further value of its key holds the server in a loop. So whoever wants to know has to look
// here, before the server does; and Repair leaves it nothing to stumble over.
package blocks

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
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

// Damage is a place of a file that is not as it was written.
type Damage struct {
	File   string
	Offset int64
	Reason string
	Until  int64 // where the next record begins that is whole; 0: there is none, or it is no record that is damaged
	Drops  Range // what a server drops that was not stopped in order: the rest of the block. Last is below First: nothing
}

// Stream is what the files of a stream hold.
type Stream struct {
	Name     string
	Bytes    int64
	Messages int64
	Range            // of the sequences of messages; Last is below First where there are none
	Gaps     []Range // sequences between them that no message has
	Torn     bool    // the last record is not whole: the process was killed as it wrote it, before it was acknowledged
	Damage   []Damage

	// Clean says that the server was stopped in order, and Indexed what its index holds then; otherwise Indexed is what
	// it held some time before, if there was one.
	Clean   bool
	Indexed Index

	dir   string
	visit func(file string, r Record) error
}

// Index is what the head of index.db says of a stream; zero without any.
type Index struct {
	Messages int64
	Range
}

// Scan reads a stream. visit gets each record that is whole, and must not keep its bytes; an error of it ends the scan.
// nil: nobody wants them.
func Scan(data, name string, visit func(file string, r Record) error) (*Stream, error) {
	s := &Stream{Name: name, Range: Range{First: 1}, dir: filepath.Join(Dir(data), name), visit: visit}
	if s.visit == nil {
		s.visit = func(string, Record) error { return nil }
	}
	s.checkMeta()
	s.checkIndex()
	numbers, err := s.blocks()
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, err)
	}
	for i, n := range numbers {
		if err := s.block(n, i == len(numbers)-1); err != nil {
			return nil, fmt.Errorf("stream %s: %w", name, err)
		}
	}
	s.compare()
	return s, nil
}

func (s *Stream) damaged(file string, offset int64, format string, args ...any) {
	s.Damage = append(s.Damage, Damage{File: file, Offset: offset, Reason: fmt.Sprintf(format, args...), Drops: Range{First: 1}})
}

func (s *Stream) messages() string { return filepath.Join(s.dir, "msgs") }

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
		number, isBlock := strings.CutSuffix(e.Name(), ".blk")
		if n, err := strconv.Atoi(number); isBlock && err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// checkMeta looks at the description of the stream.
func (s *Stream) checkMeta() {
	path := filepath.Join(s.dir, "meta.inf")
	meta, err := os.ReadFile(path)
	sum, errSum := os.ReadFile(filepath.Join(s.dir, "meta.sum"))
	if err = errors.Join(err, errSum); err != nil {
		s.damaged(path, 0, "%v", err)
		return
	}
	h := newHash(s.Name)
	h.Write(meta)
	if hex.EncodeToString(h.Sum(nil)) != string(sum) {
		s.damaged(path, 0, "checksum mismatch")
	}
}

// checkIndex reads the index: magic:1 version:1 messages:u bytes:u first:u time:v last:u ... checksum of the last
// record:8 checksum:8. Without one the server was not stopped in order, which is no damage.
func (s *Stream) checkIndex() {
	path := filepath.Join(s.messages(), "index.db")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	body := len(b) - checksumSize
	if err != nil || body < 24 {
		s.damaged(path, 0, "%d bytes, %v", len(b), err)
		return
	}
	h := newHash(s.Name)
	h.Write(b[:body])
	if !bytes.Equal(h.Sum(nil), b[body:]) {
		s.damaged(path, 0, "checksum mismatch; the server makes it again")
		return
	}
	s.Indexed = readIndex(b[2:body])
	s.Clean = bytes.Equal(b[body-checksumSize:body], s.lastChecksum())
}

func readIndex(b []byte) Index {
	var numbers [5]uint64
	for i := range numbers { // the fourth is a time, of the same length
		v, n := binary.Uvarint(b)
		numbers[i], b = v, b[max(n, 0):]
	}
	return Index{int64(numbers[0]), Range{numbers[2], numbers[4]}}
}

// lastChecksum is what the last block ends with.
func (s *Stream) lastChecksum() []byte {
	numbers, err := s.blocks()
	if err != nil || len(numbers) == 0 {
		return nil
	}
	f, err := os.Open(s.file(numbers[len(numbers)-1]))
	if err != nil {
		return nil
	}
	defer f.Close()
	sum := make([]byte, checksumSize)
	info, err := f.Stat()
	if err != nil || info.Size() < checksumSize {
		return make([]byte, checksumSize) // that of a block without records
	}
	if _, err := f.ReadAt(sum, info.Size()-checksumSize); err != nil {
		return nil
	}
	return sum
}

// maxBlock is the size of a file that is read at once. The server's are of 8 MiB and a record, at most.
const maxBlock = 64 << 20

// block reads one block.
func (s *Stream) block(number int, newest bool) error {
	path := s.file(number)
	if info, err := os.Stat(path); err != nil || info.Size() > maxBlock {
		return errors.Join(err, fmt.Errorf("%s is larger than blocks are", path))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s.Bytes += int64(len(b))
	damages := len(s.Damage)
	before, err := s.records(path, newParser(s.Name, number, b), newest)
	if len(s.Damage) > damages {
		s.Damage[damages].Drops = s.dropped(before)
	}
	return err
}

// records reads the records of a block; before is what there was before the first damage in it.
func (s *Stream) records(path string, p parser, newest bool) (before Range, err error) {
	damages := len(s.Damage)
	for at := 0; at < len(p.block); {
		r, torn, why := p.record(at)
		if why == "" {
			if err := s.take(path, r); err != nil {
				return before, err
			}
			at += r.Size
			continue
		}
		if len(s.Damage) == damages {
			before = s.Range
		}
		next, found := p.next(at+1, s.Last)
		if torn && newest && !found && !s.Clean {
			s.Torn = true
			return before, nil
		}
		s.damaged(path, int64(at), "%s", why)
		if !found {
			return before, nil
		}
		at = int(next.Offset)
		s.Damage[len(s.Damage)-1].Until = next.Offset
	}
	return before, nil
}

// dropped is what a server drops of the block just read, before whose first damage was what before says: at least the
// damaged record.
func (s *Stream) dropped(before Range) Range {
	first := before.Last + 1
	switch {
	case before.Last == 0 && s.Messages > 0:
		first = max(s.First-1, 1)
	case before.Last == 0:
		first = max(s.Indexed.First, 1)
	}
	return Range{first, max(first, s.Last)}
}

// Lost are the sequences that a server which was not stopped in order will not have, in order.
func (s *Stream) Lost() []Range {
	lost := slices.Clone(s.Gaps)
	for _, d := range s.Damage {
		if d.Drops.Last >= d.Drops.First {
			lost = append(lost, d.Drops)
		}
	}
	return Union(lost)
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

// take notes a record that is whole.
func (s *Stream) take(file string, r Record) error {
	if r.Message && r.Seq > s.Last {
		if s.Messages == 0 {
			s.First = r.Seq
		} else if r.Seq > s.Last+1 {
			s.Gaps = append(s.Gaps, Range{s.Last + 1, r.Seq - 1})
		}
		s.Messages++
		s.Last = r.Seq
	}
	return s.visit(file, r)
}

// compare holds what is there to what the index says.
func (s *Stream) compare() {
	if s.Messages > 0 && s.Clean && s.Indexed.Messages > 0 && s.Indexed.First < s.First {
		s.Gaps = slices.Insert(s.Gaps, 0, Range{s.Indexed.First, s.First - 1})
	}
	if s.Indexed.Messages > 0 && s.Indexed.Last > s.Last {
		s.Gaps = append(s.Gaps, Range{max(s.Last+1, s.Indexed.First), s.Indexed.Last})
	}
}

package backfill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sort"

	"github.com/klauspost/compress/s2"
	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// A run is a file of records in their order:
//
//	block*   4 bytes size of what follows the head, 8 bytes xxh3 of it, and, compressed with s2, the records: 8 bytes time, 4 bytes
//	         size of the body, body
//	index    for each block 8 bytes time of its first record, 8 bytes offset
//	trailer  8 bytes number of blocks, 8 bytes xxh3 of the index, 8 bytes magic
//
// All numbers are little endian. A block ends with the record that makes it blockBytes or more, unpacked. The index lets a slice read
// only what it needs.
const (
	blockBytes   = 32 << 10
	blockHead    = 4 + 8
	recordHead   = 8 + 4
	indexEntry   = 8 + 8
	trailerBytes = 8 + 8 + 8
)

const runMagic = 0x326e7572_6e666572 // "refnrun2"

var errDamaged = errors.New("damaged: the same command reads the archive again")

// runWriter writes a run.
type runWriter struct {
	w      io.Writer
	block  []byte // records of the open one
	packed []byte // scratch
	index  []byte
	offset int64
}

func newRunWriter(w io.Writer) *runWriter { return &runWriter{w: w} }

// add adds the record that comes next.
func (r *runWriter) add(t feed.Time, body []byte) error {
	if len(r.block) == 0 {
		r.index = binary.LittleEndian.AppendUint64(r.index, uint64(t))
		r.index = binary.LittleEndian.AppendUint64(r.index, uint64(r.offset))
	}
	r.block = binary.LittleEndian.AppendUint64(r.block, uint64(t))
	r.block = binary.LittleEndian.AppendUint32(r.block, uint32(len(body)))
	r.block = append(r.block, body...)
	if len(r.block) < blockBytes {
		return nil
	}
	return r.flush()
}

func (r *runWriter) flush() error {
	if len(r.block) == 0 {
		return nil
	}
	r.packed = slices.Grow(r.packed[:0], blockHead+s2.MaxEncodedLen(len(r.block)))
	packed := s2.Encode(r.packed[blockHead:cap(r.packed)], r.block)
	head := r.packed[:blockHead]
	binary.LittleEndian.PutUint32(head, uint32(len(packed)))
	binary.LittleEndian.PutUint64(head[4:], xxh3.Hash(packed))
	n, err := r.w.Write(r.packed[:blockHead+len(packed)])
	r.offset += int64(n)
	r.block = r.block[:0]
	return err
}

// close writes what is left, and the index.
func (r *runWriter) close() error {
	if err := r.flush(); err != nil {
		return err
	}
	end := r.index
	for _, n := range []uint64{uint64(len(r.index) / indexEntry), xxh3.Hash(r.index), runMagic} {
		end = binary.LittleEndian.AppendUint64(end, n)
	}
	_, err := r.w.Write(end)
	return err
}

// run is a run for reading, by any number of cursors at once.
type run struct {
	file   *os.File
	blocks []blockAt
	end    int64 // of the last block
}

type blockAt struct {
	first  feed.Time
	offset int64
}

func openRun(path string) (r *run, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r = &run{file: f}
	if err := r.readIndex(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return r, nil
}

func (r *run) readIndex() error {
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	var trailer [trailerBytes]byte
	at := info.Size() - trailerBytes
	if _, err := r.file.ReadAt(trailer[:], at); err != nil {
		return errDamaged
	}
	n := int64(binary.LittleEndian.Uint64(trailer[:]))
	if binary.LittleEndian.Uint64(trailer[16:]) != runMagic || n < 0 || n > at/indexEntry {
		return errDamaged
	}
	index := make([]byte, n*indexEntry)
	r.end = at - int64(len(index))
	if _, err := r.file.ReadAt(index, r.end); err != nil {
		return err
	}
	if xxh3.Hash(index) != binary.LittleEndian.Uint64(trailer[8:]) {
		return errDamaged
	}
	for entry := range slices.Chunk(index, indexEntry) {
		r.blocks = append(r.blocks, blockAt{feed.Time(binary.LittleEndian.Uint64(entry)), int64(binary.LittleEndian.Uint64(entry[8:]))})
	}
	return nil
}

// runReader reads the records of a run from one time up to another, which it leaves out.
type runReader struct {
	run      *run
	from, to feed.Time
	block    int    // to be read
	records  string // what is left of the one before
	buffers  *blockBuffers
}

// blockBuffers are what cursors read a block with: all those of one goroutine have the same.
type blockBuffers struct{ packed, records []byte }

// minTime and maxTime are before and behind all posts.
const minTime, maxTime = feed.Time(math.MinInt64), feed.Time(math.MaxInt64)

// cursor begins before the first record at from or later.
func (r *run) cursor(from, to feed.Time, buffers *blockBuffers) *cursor {
	first := sort.Search(len(r.blocks), func(i int) bool { return r.blocks[i].first >= from })
	before := max(0, first-1) // may end with records at from
	return &cursor{source: &runReader{run: r, from: from, to: to, block: before, buffers: buffers}}
}

func (r *run) close() error { return r.file.Close() }

func (r *runReader) next(to *record) (bool, error) {
	for {
		if r.records == "" {
			if r.block == len(r.run.blocks) || r.run.blocks[r.block].first >= r.to {
				return false, nil
			}
			if err := r.readBlock(); err != nil {
				return false, err
			}
		}
		if err := r.cutRecord(to); err != nil {
			return false, err
		}
		if to.time >= r.from {
			return to.time < r.to, nil
		}
	}
}

func (r *runReader) readBlock() error {
	begin, end := r.run.blocks[r.block].offset, r.run.end
	if r.block++; r.block < len(r.run.blocks) {
		end = r.run.blocks[r.block].offset
	}
	if end-begin < blockHead {
		return r.damaged()
	}
	b := r.buffers
	b.packed = slices.Grow(b.packed[:0], int(end-begin))[:end-begin]
	if _, err := r.run.file.ReadAt(b.packed, begin); err != nil {
		return err
	}
	if err := b.unpack(); err != nil {
		return r.damaged()
	}
	r.records = string(b.records)
	return nil
}

// unpack fills records from a block.
func (b *blockBuffers) unpack() (err error) {
	head, packed := b.packed[:blockHead], b.packed[blockHead:]
	if int(binary.LittleEndian.Uint32(head)) != len(packed) || binary.LittleEndian.Uint64(head[4:]) != xxh3.Hash(packed) {
		return errDamaged
	}
	b.records, err = s2.Decode(b.records[:cap(b.records)], packed)
	return err
}

func (r *runReader) cutRecord(to *record) error {
	if len(r.records) < recordHead {
		return r.damaged()
	}
	head := []byte(r.records[:recordHead])
	to.time = feed.Time(binary.LittleEndian.Uint64(head))
	end := recordHead + int(binary.LittleEndian.Uint32(head[8:]))
	if end > len(r.records) {
		return r.damaged()
	}
	to.body, r.records = r.records[recordHead:end], r.records[end:]
	return nil
}

func (r *runReader) damaged() error {
	return fmt.Errorf("%s: %w", r.run.file.Name(), errDamaged)
}

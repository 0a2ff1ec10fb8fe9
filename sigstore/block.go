package sigstore

import (
	"github.com/bits-and-blooms/bitset"

	"refrain/feed"
)

// row is what a block knows of a group besides the bytes in its arena. 20 bytes: offsets are counted from the begin
// of the block's arena.
type row struct {
	half     [2]uint32 // of the group's name
	records  uint32    // offset of the newest record of a chain; or listFlag and the number of an occurrence list
	tokens   uint32    // offset of its token set
	sequence uint32    // of its first occurrence
}

const (
	listFlag = 1 << 31
	pageRows = 256 // Go's allocator takes 5,376 bytes for them
)

func newRow(key uint64) row { return row{half: [2]uint32{uint32(key), uint32(key >> 32)}} }

// key is the half of the group's name.
func (r *row) key() uint64 { return uint64(r.half[0]) | uint64(r.half[1])<<32 }

func (r *row) hasList() bool { return r.records&listFlag != 0 }

// offset is how a row names a position in the block's arena, or in that of a later one.
func (b *block) offset(pos uint64) uint32 { return uint32(pos - b.arena.base) }

// reaches reports whether a row can name all positions that come within the next records of an arena.
func (b *block) reaches(a *arena) bool { return a.end()+4*maxPage-b.arena.base < listFlag }

// block holds the groups that were made, or moved on, in one slice of time. It goes as a whole.
//
// Whatever a group refers to lies in the arena of its own block or of a later one, so it is there as long as the
// group is: a group that moves takes everything with it.
type block struct {
	base   uint32 // number of its first row among all that the window ever had, modulo 2³²
	rows   int
	pages  []*[pageRows]row
	arena  arena
	who    table         // where in the arena stands who said something; of the open block only
	dead   bitset.BitSet // rows deleted, expired or moved on
	live   int
	epoch  feed.Time // times of records are relative to it
	opened feed.Time // W when it was opened, or when the clock started
	closed feed.Time // W when it was closed
	full   bool      // closed: no new rows

	piece   *Piece        // that the block was captured as; nil: it was not
	changed bitset.BitSet // rows that are not as they are in the piece
}

func (b *block) row(n uint32) *row { return &b.pages[n/pageRows][n%pageRows] }

func (b *block) add(r row) (n uint32) {
	if b.rows%pageRows == 0 {
		b.pages = append(b.pages, new([pageRows]row))
	}
	n = uint32(b.rows)
	*b.row(n) = r
	b.rows++
	b.live++
	return n
}

func (b *block) isEmpty() bool { return b.rows == 0 && len(b.arena.pages) == 0 }

// isFull reports whether the block has so many rows, or as much as positions can name.
func (b *block) isFull(rows int) bool { return b.rows >= rows || b.arena.isFull() }

func (b *block) close(at feed.Time) { b.closed, b.full = at, true }

// endsBefore reports whether the block was closed before t.
func (b *block) endsBefore(t feed.Time) bool { return b.full && b.closed < t }

// kill marks the row dead. The postings stay until the block goes.
func (b *block) kill(n uint32) {
	b.dead.Set(uint(n))
	b.live--
	b.noteChange(n)
}

// setRecords says where the records of a row are from now on.
func (b *block) setRecords(n, records uint32) {
	b.row(n).records = records
	b.noteChange(n)
}

func (b *block) noteChange(n uint32) {
	if b.piece != nil {
		b.changed.Set(uint(n))
	}
}

func (b *block) alive(n uint32) bool { return !b.dead.Test(uint(n)) }

// set is the written token set of a row.
func (b *block) set(n uint32) []byte { return b.arena.at(b.arena.base + uint64(b.row(n).tokens)) }

func (b *block) bytes() int64 {
	return b.arena.held + int64(len(b.pages))*(5376+8) + b.who.bytes() + int64((b.dead.Len()+b.changed.Len())/8)
}

// each calls visit for every live row.
func (b *block) each(visit func(n uint32)) {
	for n := range uint32(b.rows) {
		if b.alive(n) {
			visit(n)
		}
	}
}

// whoOf is where in the arena stands who said o: source, author and language, each once in a block.
func (b *block) whoOf(o *occurrence, scratch []byte) (pos uint64, _ []byte) {
	scratch = appendWho(scratch[:0], o)
	h := hashBytes(scratch)
	same := func(at uint32) bool {
		data := b.arena.at(b.arena.base + uint64(at))
		return len(data) >= len(scratch) && string(data[:len(scratch)]) == string(scratch)
	}
	if at, ok := b.who.find(h, same); ok {
		return b.arena.base + uint64(at), scratch
	}
	pos = b.arena.put(scratch)
	b.who.add(h, uint32(pos-b.arena.base), b.hashWho)
	return pos, scratch
}

// hashWho is the hash under which what stands at an offset is found.
func (b *block) hashWho(at uint32) uint64 {
	from := b.arena.at(b.arena.base + uint64(at))
	r := reader{from}
	r.who(new(occurrence))
	return hashBytes(from[:len(from)-len(r.b)])
}

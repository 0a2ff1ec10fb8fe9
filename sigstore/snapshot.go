package sigstore

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/zeebo/xxh3"

	"refrain/feed"
	"refrain/internal/chunks"
)

// A window may be captured, written to files while it goes on, and restored from them. Closed blocks hardly change, and
// what lies in an arena never does. So each closed block is a piece, which is written once; what has changed in its rows
// since, the open block, the occurrence lists and the dictionary are the head, which is written each time and names the
// pieces. Neither has an index, nor codes: these are made anew, so that the model and the engine may be others.
//
// Both are streams of package chunks, a piece under the magic "RSNB". :n is n bytes, little endian, :u an unsigned varint,
// :v a signed (zigzag) one; times are milliseconds; a string is its length:u and its bytes.
//
//	head     = bound state purge tokens lists blocks
//	bound    = span:v lateness:v texts:1 authors:8     of the window; authors is the hash of nothing by its AuthorKey
//	state    = started:1 clock:v expired:v             W, and what was evicted for the budget
//	           inserted:u redelivered:u deleted:u forced:u forcedOccurrences:u isForced:1   Counts
//	           occurrences:u peak:u epoch:v            kept now; most groups; of the next block
//	purge    = number:u posts:1 #authors:u (source author number:u position:u)*             deleted, and not removed yet
//	tokens   = peak:u #numbers:u id:8*                 by number; of one that no row holds anything
//	lists    = #:u list*                               by number
//	list     = 0:1                                     there is none of this number
//	         | 1:1 sequence:4 first count:u cleaned:u thinAt:u more:1 #authors:u hash:8*
//	           #records:u position:u* length:u bytes   its records are as in memory: see record.go
//	first    = source post author time:v
//	blocks   = #:u (times name (block if name is "", else sum:8 changes))*                  the oldest first; sum is of the piece
//	times    = opened:v closed:v full:1
//	changes  = #:u (row:u records:4 dead:1)*           rows that are not as in the piece
//	block    = base:4 arena:8 epoch:v #rows:u row:20* #dead:u row:u* #pages:u (length:u bytes)*
//	row      = key:8 records:4 tokens:4 sequence:4     as in memory: see block.go
//	piece    = block
//
// A sum is the xxh3-64 of all bytes of a piece's file: a file of another window under that name, whole as it is, is known by it.
//
// Row numbers of changes and of dead rows are the distances from the one before, minus one. The first block of a window without
// texts that holds one sentence of four tokens, posted as number 7 by ann of source s (TestExample):
//
//	00 00 00 00  00 00 01 00 00 00 00 00  90 4e                           base 0, arena from 65,536 on, epoch 5,000 ms
//	01  00 00 00 00 00 00 00 09  0c 00 00 00  00 00 00 00  06 00 00 00    one row: key, records at 12, tokens at 0, sequence
//	00  01 1c                                                             none is dead; one page, of 28 bytes:
//	04 00 01 01 01   01 73 03 61 6e 6e 00                                 the tokens 0 to 3; s, ann, no language
//	47 02 06  08 00 00 00 00 00 00 00  08 00 00 00  07                    the record: see record.go

// SnapshotFormat is that of pieces and heads. It changes with them, and with what they show of a window: records, rows and
// granularity.
const SnapshotFormat = 2

const pieceMagic = "RSNB"

// Capture is a window at one moment. It may be written by another goroutine while the window changes.
type Capture struct {
	// Pieces are those of all closed blocks. Those without a name are to be written, each to a file, and named after that.
	Pieces []*Piece
	// Write writes the head, once all pieces have names.
	Write func(io.Writer) error
}

// Piece is a part of a window that is written once. Its name is set before the window is captured again, or never.
type Piece struct {
	Name  string
	Write func(io.Writer) error
	sum   uint64 // of what was written
}

// captured is a block at one moment.
type captured struct {
	piece *Piece // nil: it is in the head
	times []byte
	body  []byte   // of the block, or the changes
	pages [][]byte // of the block
}

// Capture captures the window; nil: that is not possible now, and will be once the deletion of an author is complete who
// has posted since.
func (w *Window) Capture() *Capture {
	p := &w.groups.purge
	for _, d := range p.authors {
		if d.stays != nil {
			return nil
		}
	}
	head := &image{copied: w.groups.tokens.append(p.append(w.appendState(slices.Clone(w.bound))))}
	w.groups.lists.capture(head)
	head.copied = binary.AppendUvarint(head.copied, uint64(len(w.blocks.all)))
	c := &Capture{}
	var all []captured
	for _, b := range w.blocks.all {
		one := b.capture()
		all = append(all, one)
		if one.piece != nil {
			c.Pieces = append(c.Pieces, one.piece)
		}
	}
	c.Write = func(to io.Writer) error { return writeHead(to, head, all) }
	return c
}

func writeHead(to io.Writer, head *image, all []captured) error {
	if err := head.write(to); err != nil {
		return err
	}
	for i := range all {
		if err := all[i].write(to); err != nil {
			return err
		}
	}
	return nil
}

// image is some bytes at one moment: copies of what changes, and between them what never does, as it lies in the window. Most
// of a window is of the latter kind: a copy of it would take memory that no budget knows of.
type image struct {
	copied []byte
	shared []sharedBytes
}

type sharedBytes struct {
	behind int // so many of those copied
	bytes  []byte
}

func (im *image) share(b []byte) { im.shared = append(im.shared, sharedBytes{len(im.copied), b}) }

func (im *image) write(to io.Writer) error {
	from := 0
	for _, s := range im.shared {
		for _, b := range [][]byte{im.copied[from:s.behind], s.bytes} {
			if _, err := to.Write(b); err != nil {
				return err
			}
		}
		from = s.behind
	}
	_, err := to.Write(im.copied[from:])
	return err
}

func (c *captured) write(to io.Writer) error {
	head := appendString(c.times, "")
	if c.piece != nil {
		head = binary.LittleEndian.AppendUint64(appendString(c.times, c.piece.Name), c.piece.sum)
	}
	if _, err := to.Write(head); err != nil {
		return err
	}
	return writeBlock(to, c.body, c.pages)
}

// writeBlock writes a block; without pages it is changes.
func writeBlock(to io.Writer, body []byte, pages [][]byte) error {
	if _, err := to.Write(body); err != nil {
		return err
	}
	for _, page := range pages {
		if _, err := to.Write(binary.AppendUvarint(nil, uint64(len(page)))); err != nil {
			return err
		}
		if _, err := to.Write(page); err != nil {
			return err
		}
	}
	return nil
}

// capture captures a block: a closed one as a piece, of which only the changes are in the head.
func (b *block) capture() captured {
	c := captured{times: append(binary.AppendVarint(binary.AppendVarint(nil, int64(b.opened)), int64(b.closed)), flag(b.full))}
	if !b.full {
		c.body, c.pages = b.append(nil), b.arena.written()
		return c
	}
	if b.piece == nil || b.piece.Name == "" {
		body, pages := b.append(nil), b.arena.written()
		b.piece = newPiece(body, pages)
		b.changed.ClearAll()
	}
	c.piece, c.body = b.piece, b.appendChanges(nil)
	return c
}

func newPiece(body []byte, pages [][]byte) *Piece {
	p := &Piece{}
	p.Write = func(to io.Writer) error {
		sum := xxh3.New()
		err := writePiece(io.MultiWriter(to, sum), body, pages)
		p.sum = sum.Sum64()
		return err
	}
	return p
}

func writePiece(to io.Writer, body []byte, pages [][]byte) error {
	w := chunks.NewWriter(to, pieceMagic, SnapshotFormat)
	if err := writeBlock(w, body, pages); err != nil {
		return err
	}
	return w.Close()
}

// append writes what is in front of the pages.
func (b *block) append(dst []byte) []byte {
	const fixed = 64 // more than what is neither rows nor numbers of rows
	dst = slices.Grow(dst, fixed+b.rows*rowSize+int(b.dead.Count()))
	dst = binary.LittleEndian.AppendUint32(dst, b.base)
	dst = binary.LittleEndian.AppendUint64(dst, b.arena.base)
	dst = binary.AppendVarint(dst, int64(b.epoch))
	dst = binary.AppendUvarint(dst, uint64(b.rows))
	for n := range uint32(b.rows) {
		dst = b.row(n).append(dst)
	}
	dst = binary.AppendUvarint(dst, uint64(b.dead.Count()))
	last := -1
	for n := range b.dead.EachSet() {
		dst, last = binary.AppendUvarint(dst, uint64(int(n)-last-1)), int(n)
	}
	return binary.AppendUvarint(dst, uint64(len(b.arena.pages)))
}

func (b *block) appendChanges(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(b.changed.Count()))
	last := -1
	for n := range b.changed.EachSet() {
		dst, last = binary.AppendUvarint(dst, uint64(int(n)-last-1)), int(n)
		dst = binary.LittleEndian.AppendUint32(dst, b.row(uint32(n)).records)
		dst = append(dst, flag(!b.alive(uint32(n))))
	}
	return dst
}

const rowSize = 20

func (r *row) append(dst []byte) []byte {
	for _, v := range [...]uint32{r.half[0], r.half[1], r.records, r.tokens, r.sequence} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return dst
}

// written are the pages as they are now: what is put into the last one later stands behind that.
func (a *arena) written() [][]byte { return slices.Clone(a.pages) }

func flag(on bool) byte { return byte(oneIf(on)) }

// appendBound writes what a snapshot is bound to: another window would hold something else.
func (cfg *Config) appendBound(dst []byte) []byte {
	dst = binary.AppendVarint(dst, cfg.Span.Milliseconds())
	dst = append(binary.AppendVarint(dst, cfg.Lateness.Milliseconds()), flag(!cfg.OmitTexts))
	return binary.LittleEndian.AppendUint64(dst, cfg.AuthorKey.hash("", "\x00"))
}

func (w *Window) appendState(dst []byte) []byte {
	c := &w.clock
	dst = binary.AppendVarint(append(dst, flag(c.started)), int64(c.now))
	dst = binary.AppendVarint(dst, int64(c.expired))
	n := w.allCounts()
	for _, v := range []int64{n.Inserted, n.Redelivered, n.Deleted, n.Forced, n.ForcedOccurrences} {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	dst = append(dst, flag(w.forced))
	dst = binary.AppendUvarint(dst, uint64(w.groups.occurrences))
	dst = binary.AppendUvarint(dst, uint64(w.groups.peak))
	return binary.AppendVarint(dst, int64(w.blocks.epoch))
}

func (p *purge) append(dst []byte) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(p.number)), flag(p.gone != nil))
	dst = binary.AppendUvarint(dst, uint64(len(p.authors)))
	for who, d := range p.authors {
		dst = appendString(appendString(dst, who.source), who.author)
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(d.number)), d.position)
	}
	return dst
}

func (d *dictionary) append(dst []byte) []byte {
	dst = slices.Grow(dst, 2*binary.MaxVarintLen64+8*len(d.tokens))
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(d.peak)), uint64(len(d.tokens)))
	for n := range d.tokens {
		dst = binary.LittleEndian.AppendUint64(dst, d.tokens[n].id)
	}
	return dst
}

// capture shares the records of the lists, which stay as they are where they lie.
func (l *occurrenceLists) capture(to *image) {
	to.copied = binary.AppendUvarint(to.copied, uint64(len(l.all)))
	for _, m := range l.all {
		if to.copied = append(to.copied, flag(m != nil)); m != nil {
			to.copied = m.append(to.copied)
			to.share(m.buf)
		}
	}
}

// append writes what is in front of the records.
func (m *occurrenceList) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, m.frame.sequence)
	dst = appendFirst(dst, &m.first)
	for _, v := range []int{m.count, int(m.cleaned), m.thinAt} {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	dst = binary.AppendUvarint(append(dst, flag(m.authors.more)), uint64(len(m.authors.smallest)))
	for _, hash := range m.authors.smallest {
		dst = binary.LittleEndian.AppendUint64(dst, hash)
	}
	dst = binary.AppendUvarint(dst, uint64(len(m.records)))
	for _, pos := range m.records {
		dst = binary.AppendUvarint(dst, pos)
	}
	return binary.AppendUvarint(dst, uint64(len(m.buf)))
}

func appendFirst(dst []byte, f *feed.First) []byte {
	dst = appendString(appendString(appendString(dst, f.Source), f.Post), f.Author)
	return binary.AppendVarint(dst, int64(f.Time))
}

package sigstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"refrain/feed"
	"refrain/internal/chunks"
)

// ErrOther says that a snapshot is of a window with other settings.
var ErrOther = errors.New("of a window with another span or lateness, with or without texts, or with another key of authors")

// ErrBudget says that a snapshot is of a window that holds more than this one may.
var ErrBudget = errors.New("it holds more than the budget of the window")

// Restore makes the window of a snapshot. head is what Capture.Write wrote, open opens a piece by its name. gone says which
// posts are deleted: it is asked where the removal of some was not complete. The engine, the model and the budget may be others; what is too much for the
// budget is ErrBudget, before much more of it is read.
//
// What was damaged is an error that wraps chunks.ErrDamaged, or the checksum is one by chance: then whatever is there makes
// no read go beyond what there is, but a record that is nonsense may panic when it is looked at.
func Restore(cfg Config, head io.Reader, open func(name string) (io.ReadCloser, error), gone Gone) (*Window, error) {
	return restore(cfg, defaultGranularity, head, open, gone)
}

func restore(cfg Config, g granularity, head io.Reader, open func(name string) (io.ReadCloser, error), gone Gone) (*Window, error) {
	w := makeWindow(cfg, g)
	in := newInput(head)
	in.full = w.overBudget
	if err := in.bound(w.bound); err != nil {
		return nil, err
	}
	in.state(w)
	in.purge(&w.groups.purge, gone)
	in.tokens(w.groups.tokens)
	in.lists(&w.groups.lists, w.groups.cfg, w.blocks.texts)
	if err := in.blocks(w.blocks, open); err != nil {
		return nil, err
	}
	if err := in.end(); err != nil {
		return nil, err
	}
	if err := w.reindex(); err != nil {
		return nil, err
	}
	return w, nil // within its budget with the next sentence: gone may not know yet what is deleted
}

// Pieces are those that the closed blocks are of, as far as they were captured.
func (w *Window) Pieces() (all []*Piece) {
	for _, b := range w.blocks.all {
		if b.piece != nil {
			all = append(all, b.piece)
		}
	}
	return all
}

func damaged(what string) error { return fmt.Errorf("%w: %s", chunks.ErrDamaged, what) }

// bound wants the window to be that of the snapshot.
func (in *input) bound(want []byte) error {
	got := in.bytes(len(want))
	if in.err == nil && string(got) != string(want) {
		return ErrOther
	}
	return in.err
}

func (in *input) state(w *Window) {
	c := &w.clock
	c.started, c.now, c.expired = in.byte() == 1, in.time(), in.time()
	n := &w.counts
	for _, v := range []*int64{&n.Inserted, &n.Redelivered, &n.Deleted, &n.Forced, &n.ForcedOccurrences} {
		*v = int64(in.uvarint(math.MaxInt64, "a count"))
	}
	w.forced = in.byte() == 1
	w.groups.occurrences, w.groups.peak = in.count("occurrences"), in.count("most texts")
	w.blocks.epoch = in.time()
}

func (in *input) purge(p *purge, gone Gone) {
	p.number = uint32(in.uvarint(math.MaxUint32, "deletions"))
	p.recent.before = p.number
	if in.byte() == 1 {
		p.gone, p.posts = gone, p.number
	}
	for range in.count("deleted authors") {
		if in.err != nil {
			return
		}
		if p.authors == nil {
			p.authors = map[who]deletion{}
		}
		name := who{in.string(), in.string()}
		p.authors[name] = deletion{number: uint32(in.uvarint(math.MaxUint32, "a deletion")), position: in.uvarint(math.MaxUint64, "")}
	}
}

func (in *input) tokens(d *dictionary) {
	d.peak = in.count("most tokens")
	for range in.count("tokens") {
		if in.err != nil {
			return
		}
		d.tokens = append(d.tokens, token{id: in.uint64()})
	}
}

func (in *input) lists(l *occurrenceLists, cfg *groupsConfig, texts bool) {
	for n := range in.count("lists") {
		var m *occurrenceList
		switch in.byte() {
		case 0:
			l.free = append(l.free, n)
		case 1:
			m = in.list(cfg, texts)
			l.held += m.bytes()
		default:
			in.fail(damaged("a list"))
		}
		in.checkBudget()
		if in.err != nil {
			return
		}
		l.all = append(l.all, m)
	}
}

func (in *input) list(cfg *groupsConfig, texts bool) *occurrenceList {
	m := &occurrenceList{cfg: cfg, frame: frame{sequence: in.uint32(), texts: texts}}
	m.first = feed.First{Source: in.string(), Post: in.string(), Author: in.string(), Time: in.time()}
	m.count, m.cleaned = in.count("occurrences"), uint32(in.uvarint(math.MaxUint32, "a deletion"))
	m.thinAt, m.authors.more = in.count("occurrences"), in.byte() == 1
	for range in.uvarint(maxAuthors, "authors") {
		m.authors.smallest = append(m.authors.smallest, in.uint64())
	}
	for range in.count("records") {
		if in.err != nil {
			return m
		}
		m.records = append(m.records, in.uvarint(math.MaxUint32, "a record"))
	}
	m.buf = in.bytes(in.count("the length of records"))
	if len(m.records) == 0 || slices.Max(m.records) >= uint64(len(m.buf)) {
		in.fail(damaged("a list"))
	}
	return m
}

// maxBlocks is more than a window has.
const maxBlocks = 1 << 16

func (in *input) blocks(bs *blocks, open func(name string) (io.ReadCloser, error)) error {
	for range in.uvarint(maxBlocks, "blocks") {
		b := &block{opened: in.time(), closed: in.time(), full: in.byte() == 1}
		name := in.string()
		if in.err == nil && name == "" {
			in.block(b)
		} else if in.err == nil {
			if err := readPiece(b, &Piece{Name: name, sum: in.uint64()}, open); err != nil {
				return fmt.Errorf("piece %s: %w", name, err)
			}
			in.changes(b)
		}
		if err := in.follows(bs, b); err != nil {
			return err
		}
		bs.all, bs.bases = append(bs.all, b), append(bs.bases, b.base)
		in.checkBudget()
	}
	if in.err == nil && (len(bs.all) == 0 || bs.current().full) {
		return damaged("no block is open")
	}
	return in.err
}

// follows checks that rows and positions run on from the last block to the next.
func (in *input) follows(bs *blocks, b *block) error {
	if in.err != nil || len(bs.all) == 0 {
		return in.err
	}
	if last := bs.current(); b.base != last.base+uint32(last.rows) || b.arena.base != last.arena.end() {
		return damaged("a block of another window")
	}
	return nil
}

func readPiece(b *block, p *Piece, open func(name string) (io.ReadCloser, error)) error {
	f, err := open(p.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := xxh3.New()
	r, err := chunks.NewReader(io.TeeReader(f, sum), pieceMagic, SnapshotFormat)
	if err != nil {
		return err
	}
	in := newInput(r)
	in.block(b)
	b.piece = p
	if err := in.end(); err != nil {
		return err
	}
	if sum.Sum64() != p.sum {
		return damaged("it is not the piece that the head names")
	}
	return nil
}

func (in *input) block(b *block) {
	b.base, b.arena.base = in.uint32(), in.uint64()
	b.epoch = in.time()
	if b.arena.base%maxPage != 0 || b.arena.base > math.MaxInt64 {
		in.fail(damaged("the place of a block"))
	}
	for range in.count("rows") {
		if in.err != nil {
			return
		}
		b.add(in.row())
	}
	in.eachRow(b, func(n uint32) { b.kill(n) })
	for range in.uvarint(maxArena, "pages") {
		if in.err != nil {
			return
		}
		page := slices.Clip(in.bytes(in.count("the length of a page")))
		b.arena.pages = append(b.arena.pages, page)
		b.arena.held += int64(cap(page))
	}
}

func (in *input) row() (r row) {
	b := in.fixed(rowSize)
	for i, v := range []*uint32{&r.half[0], &r.half[1], &r.records, &r.tokens, &r.sequence} {
		*v = binary.LittleEndian.Uint32(b[4*i:])
	}
	return r
}

// changes changes the rows of a block that are not as in its piece.
func (in *input) changes(b *block) {
	in.eachRow(b, func(n uint32) {
		b.setRecords(n, in.uint32())
		if in.byte() == 1 && b.alive(n) {
			b.kill(n)
		}
	})
}

// eachRow reads the numbers of some rows.
func (in *input) eachRow(b *block, visit func(n uint32)) {
	next := uint64(0)
	for range in.count("rows") {
		n := next + in.uvarint(math.MaxInt32, "a row")
		if in.err == nil && n >= uint64(b.rows) {
			in.fail(damaged("a row"))
		}
		if in.err != nil {
			return
		}
		visit(uint32(n))
		next = n + 1
	}
}

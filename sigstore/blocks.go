package sigstore

import (
	"slices"

	"refrain/feed"
)

// blocks are those of a window, the oldest first; the last one is open. Numbers of rows and positions of bytes run on
// from one to the next.
type blocks struct {
	all     []*block
	bases   []uint32  // of each: side by side, for numbered
	dropped uint32    // blocks that are gone: the number of the oldest
	texts   bool      // records have texts
	epoch   feed.Time // of the next block

	scratch []byte
}

func newBlocks(texts bool) *blocks { return &blocks{texts: texts, epoch: minTime} }

// open begins a block behind the others.
func (bs *blocks) open(at feed.Time) {
	b := &block{opened: at, epoch: bs.epoch, arena: arena{base: maxPage}}
	if len(bs.all) > 0 {
		last := bs.current()
		last.who = table{}
		b.base, b.arena.base = last.base+uint32(last.rows), last.arena.end()
	}
	bs.all, bs.bases = append(bs.all, b), append(bs.bases, b.base)
}

func (bs *blocks) current() *block { return bs.all[len(bs.all)-1] }

func (bs *blocks) oldest() *block { return bs.all[0] }

func (bs *blocks) len() int { return len(bs.all) }

// nth is the block at a place, 0 being that of the oldest.
func (bs *blocks) nth(i int) *block { return bs.all[i] }

// first is the number of the oldest block.
func (bs *blocks) first() uint32 { return bs.dropped }

// each visits every live row.
func (bs *blocks) each(visit func(g Group)) {
	for _, b := range bs.all {
		b.each(func(n uint32) { visit(Group{b, n}) })
	}
}

// start gives a time to the blocks that were opened and closed before there was a clock.
func (bs *blocks) start(at feed.Time) {
	for _, b := range bs.all {
		b.opened, b.closed = at, at
	}
}

// expect says that a record of this time comes next.
func (bs *blocks) expect(t feed.Time) {
	if bs.epoch == minTime {
		bs.current().epoch = t
	}
	bs.epoch = t
}

// drop drops the n oldest blocks.
func (bs *blocks) drop(n int) {
	bs.all = slices.Delete(bs.all, 0, n) // clears the places behind, which would keep blocks alive
	bs.bases = slices.Delete(bs.bases, 0, n)
	bs.dropped += uint32(n)
}

// renew numbers blocks from 0 on again, behind those that are there: these have to be dropped then.
func (bs *blocks) renew() (old []*block) {
	bs.dropped = -uint32(len(bs.all))
	return bs.all
}

// contains reports whether a block is there.
func (bs *blocks) contains(number uint32) bool { return int(number-bs.dropped) < len(bs.all) }

// group is the group of a row, dead or alive.
func (bs *blocks) group(r Row) Group { return Group{bs.all[r.Block-bs.dropped], r.Row} }

// touch reads a byte of each row's token set, for nothing: then the memory of all comes together, where in a large window
// each is a cache miss or two.
func (bs *blocks) touch(rows []Row) (sum uint64) {
	if len(rows) < 2 {
		return 0
	}
	for _, r := range rows {
		sum += uint64(bs.group(r).row().tokens)
	}
	for _, r := range rows {
		sum += uint64(bs.group(r).set()[0])
	}
	return sum
}

// next is the row to come.
func (bs *blocks) next() Row {
	return Row{bs.dropped + uint32(len(bs.all)-1), uint32(bs.current().rows)}
}

// numbered is the group of a number in the table. Most are in the newest blocks, which are the largest while a window
// grows.
func (bs *blocks) numbered(number uint32) Group {
	from := bs.all[0].base
	i := len(bs.bases) - 1
	for bs.bases[i]-from > number-from {
		i--
	}
	return Group{bs.all[i], number - bs.bases[i]}
}

// keyOf is the half of the name of a group by its number.
func (bs *blocks) keyOf(number uint32) uint64 { return bs.numbered(number).row().key() }

// at is what lies at a position, in the arena of whatever block.
func (bs *blocks) at(pos uint64) []byte { return bs.holding(pos).arena.at(pos) }

// holding is the block in whose arena a position lies. Most are in the newest.
func (bs *blocks) holding(pos uint64) *block {
	i := len(bs.all) - 1
	for bs.all[i].arena.base > pos {
		i--
	}
	return bs.all[i]
}

// read reads the record at a position; sequence is the group's.
func (bs *blocks) read(o *occurrence, pos uint64, sequence uint32) (before uint64) {
	f := bs.frame(bs.holding(pos), sequence)
	return f.decode(o, bs, pos)
}

// write puts a record into the newest block's arena.
func (bs *blocks) write(o *occurrence, sequence uint32, l links) (pos uint64) {
	b := bs.current()
	l.who, bs.scratch = b.whoOf(o, bs.scratch)
	f := bs.frame(b, sequence)
	bs.scratch = f.encode(bs.scratch[:0], o, l)
	return b.arena.put(bs.scratch)
}

// writeSet puts a token set there.
func (bs *blocks) writeSet(numbers []uint32) (pos uint64) {
	bs.scratch = appendSet(bs.scratch[:0], numbers)
	return bs.current().arena.put(bs.scratch)
}

func (bs *blocks) frame(b *block, sequence uint32) frame {
	return frame{base: b.arena.base, epoch: b.epoch, sequence: sequence, texts: bs.texts}
}

func (bs *blocks) bytes() (n int64) {
	for _, b := range bs.all {
		n += b.bytes()
	}
	return n
}

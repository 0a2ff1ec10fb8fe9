package sigstore

import (
	"encoding/binary"
	"math"
)

// reindex makes what is not in a snapshot: the table of names, the codes, the frequencies of tokens, and the index.
func (w *Window) reindex() error {
	gs, d := w.groups, w.groups.tokens
	gs.names = newTable(w.blocks.live())
	for _, b := range w.blocks.all {
		for n := range uint32(b.rows) {
			if !b.alive(n) {
				continue
			}
			if err := gs.count(Group{b, n}); err != nil {
				return err
			}
		}
	}
	d.reindex()
	for _, b := range w.blocks.all {
		w.searcher.open()
		for n := range uint32(b.rows) {
			w.searcher.addAgain(Group{b, n})
		}
		if w.isFarOverBudget() {
			return ErrBudget
		}
	}
	return nil
}

// isFarOverBudget leaves room for indexes that are made at once, which may take a little more than those that grew.
func (w *Window) isFarOverBudget() bool { return w.budget > 0 && w.Bytes() > w.limit()+w.limit()/8 }

// count counts a group that is restored, and its tokens, if they and its records are where it says.
func (gs *Groups) count(g Group) error {
	r, ok := g.row(), false
	if gs.numbers, ok = gs.blocks.checkedSet(gs.numbers[:0], g, gs.tokens.len()); !ok {
		return damaged("a token set")
	}
	switch {
	case r.hasList() && !gs.lists.has(r), !r.hasList() && !gs.blocks.has(g.newest()):
		return damaged("the records of a text")
	}
	for _, n := range gs.numbers {
		gs.tokens.acquireNumber(n)
	}
	gs.name(g)
	return nil
}

// has reports whether there is a byte at a position.
func (bs *blocks) has(pos uint64) bool {
	return pos >= bs.all[0].arena.base && bs.holding(pos).arena.has(pos)
}

func (a *arena) has(pos uint64) bool {
	page, at := (pos-a.base)>>pageBits, (pos-a.base)&(maxPage-1)
	return page < uint64(len(a.pages)) && at < uint64(len(a.pages[page]))
}

// checkedSet is readSet where nobody knows whether there is a set.
func (bs *blocks) checkedSet(dst []uint32, g Group, tokens int) (_ []uint32, ok bool) {
	if !g.block.arena.has(g.block.arena.base + uint64(g.row().tokens)) {
		return dst, false
	}
	b := g.set()
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[max(0, n):]
		if n <= 0 {
			return math.MaxUint64
		}
		return v
	}
	size, last := next(), uint64(0)
	for ; size > 0; size-- {
		step := next()
		if last += step; step > math.MaxUint32 || last >= uint64(tokens) || len(dst) > 0 && step == 0 {
			return dst, false
		}
		dst = append(dst, uint32(last))
	}
	return dst, true
}

// live are the groups of all blocks.
func (bs *blocks) live() (n int) {
	for _, b := range bs.all {
		n += b.live
	}
	return n
}

// has reports whether a row's list is there.
func (l *occurrenceLists) has(r *row) bool {
	n := int(r.records &^ listFlag)
	return n < len(l.all) && l.all[n] != nil
}

// reindex makes a dictionary of the ids of its numbers, of which those without rows are free.
func (d *dictionary) reindex() {
	d.more = make([]uint16, len(d.tokens)*d.perMore)
	d.numbers = newTable(len(d.tokens))
	for n := range d.tokens {
		if d.tokens[n].rows == 0 {
			d.free = append(d.free, uint32(n))
			continue
		}
		d.setCode(uint32(n), d.tokens[n].id)
		d.numbers.add(d.tokens[n].id, uint32(n), d.id)
	}
	d.peak = max(d.peak, d.numbers.live)
}

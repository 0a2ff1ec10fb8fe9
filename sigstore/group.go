package sigstore

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// Group names a group of a window: the sentences with one token set. It is valid until the window next changes
// otherwise than by an insertion. The zero Group is none.
type Group struct {
	block *block
	n     uint32
}

// IsNone reports whether g is no group.
func (g Group) IsNone() bool { return g.block == nil }

func (g Group) row() *row { return g.block.row(g.n) }

// newest is the position of the newest record of a group with a chain.
func (g Group) newest() uint64 { return g.block.arena.base + uint64(g.row().records) }

// number is the group's in the table of hashes.
func (g Group) number() uint32 { return g.block.base + g.n }

// Hash is the name of a group's token set.
func (w *Window) Hash(g Group) feed.Hash {
	return feed.GroupHash(w.idsOf(g.block, g.n))
}

// Size is the number of tokens of the group.
func (g Group) Size() int {
	r := reader{g.block.set(g.n)}
	return int(r.uvarint())
}

func hashBytes(b []byte) uint64 { return xxh3.Hash(b) }

// keyOfHash is the half of a group's name by which a window knows it. The other half chooses the partition. Two token
// sets of one window that share it would be taken for one: 10⁸ of them do so once in 4,000 windows.
func keyOfHash(h *feed.Hash) uint64 { return binary.LittleEndian.Uint64(h[8:]) }

// Group returns the group of a token set, or none.
func (w *Window) Group(h feed.Hash) (g Group) { return w.groupOf(keyOfHash(&h)) }

func (w *Window) groupOf(key uint64) (g Group) {
	_, ok := w.groups.find(key, func(number uint32) bool {
		g = w.numbered(number)
		return g.row().key() == key
	})
	if !ok {
		return Group{}
	}
	return g
}

// numbered is the group of a number in the table. Most are in the newest blocks, which are the largest while a window
// grows.
func (w *Window) numbered(number uint32) Group {
	from := w.blocks[0].base
	i := len(w.bases) - 1
	for w.bases[i]-from > number-from {
		i--
	}
	return Group{w.blocks[i], number - w.bases[i]}
}

func (w *Window) keyOf(number uint32) uint64 { return w.numbered(number).row().key() }

// at is what lies at a position, in the arena of whatever block.
func (w *Window) at(pos uint64) []byte { return w.blockAt(pos).arena.at(pos) }

// blockAt is the block in whose arena a position lies. Most are in the newest.
func (w *Window) blockAt(pos uint64) *block {
	i := len(w.blocks) - 1
	for w.blocks[i].arena.base > pos {
		i--
	}
	return w.blocks[i]
}

// view is the occurrences of a group. It is valid until the group changes, and until the view of the second other
// group after it.
func (w *Window) view(g Group) *view {
	i := 0
	for i < len(w.views) && w.views[i].of != g {
		i++
	}
	if i == len(w.views) {
		i = w.nextView
		w.views[i].of = g
		w.read(&w.views[i].view, g)
	}
	w.nextView = (i + 1) % len(w.views)
	return &w.views[i].view
}

// viewSlot remembers whose occurrences a view shows.
type viewSlot struct {
	of Group
	view
}

// forgetViews is called when groups move or change.
func (w *Window) forgetViews() {
	for i := range w.views {
		w.views[i].of = Group{}
	}
}

// read fills a view.
func (w *Window) read(v *view, g Group) {
	r := g.row()
	if r.isMany() {
		v.many = w.many[r.records&^manyFlag]
		return
	}
	v.many, v.chain = nil, v.chain[:0]
	for pos := g.newest(); pos != 0; {
		v.chain = append(v.chain, occurrence{})
		pos = w.decode(&v.chain[len(v.chain)-1], pos, r.sequence)
	}
	slices.SortFunc(v.chain, func(a, b occurrence) int {
		return cmp.Or(a.key().compare(b.key()), cmp.Compare(a.version, b.version))
	})
}

func (w *Window) decode(o *occurrence, pos uint64, sequence uint32) (before uint64) {
	b := w.blockAt(pos)
	f := w.frame(b, sequence)
	return f.decode(o, w, pos)
}

func (w *Window) frame(b *block, sequence uint32) frame {
	return frame{base: b.arena.base, epoch: b.epoch, sequence: sequence, texts: !w.cfg.OmitTexts}
}

// longestChain is the number of occurrences from which on a group has many: where thinning begins, as a rule.
const longestChain = 15

// say adds an occurrence to a group.
func (w *Window) say(g Group, o *occurrence) {
	v := w.view(g)
	if v.many == nil && (v.len() >= min(longestChain, w.cfg.cut.thinFrom-1) || !g.block.reaches(&w.current().arena)) {
		w.becomeMany(g, v)
	}
	if v.many != nil {
		w.privately(v.many, func(m *many) { m.insert(o) })
		w.thin(v.many)
		return
	}
	r := g.row()
	r.records = g.block.place(w.write(o, r.sequence, links{before: g.newest(), text: v.textLike(o.text, v.len())}))
	w.forgetViews()
}

// write puts a record into the newest block's arena.
func (w *Window) write(o *occurrence, sequence uint32, l links) (pos uint64) {
	b := w.current()
	l.who, w.bytes = b.whoOf(o, w.bytes)
	f := w.frame(b, sequence)
	w.bytes = f.encode(w.bytes[:0], o, l)
	return b.arena.put(w.bytes)
}

// becomeMany gives a group with a chain records of its own.
func (w *Window) becomeMany(g Group, v *view) {
	m := newMany(v, w.frame(g.block, g.row().sequence), w.cfg.cut.thinFrom)
	w.held += m.bytes()
	g.row().records = manyFlag | uint32(w.takeMany(m))
	v.many, v.chain = m, v.chain[:0]
}

// takeMany gives m a number.
func (w *Window) takeMany(m *many) (n int) {
	if len(w.freeMany) == 0 {
		w.many = append(w.many, nil)
		w.freeMany = append(w.freeMany, len(w.many)-1)
	}
	n = w.freeMany[len(w.freeMany)-1]
	w.freeMany = w.freeMany[:len(w.freeMany)-1]
	w.many[n] = m
	return n
}

// privately changes m and counts what it holds then.
func (w *Window) privately(m *many, change func(*many)) {
	before := m.bytes()
	change(m)
	w.held += m.bytes() - before
}

// thin drops what no later look-up needs, when m has grown enough since it was last tried.
func (w *Window) thin(m *many) {
	if len(m.records) < m.thinAt {
		return
	}
	w.privately(m, func(m *many) {
		w.occurrences -= m.thin(w.Horizon(), w.clock.lateBefore(), w.slice)
	})
	m.thinAt = max(w.cfg.cut.thinFrom, 2*len(m.records))
}

// drop removes the occurrences for which gone holds, and returns how many they were and how many are left.
func (w *Window) drop(g Group, gone func(*occurrence) bool) (dropped, left int) {
	v := w.view(g)
	if v.many == nil {
		for i := range v.chain {
			dropped += toInt(gone(&v.chain[i]))
		}
		if dropped == 0 || dropped == len(v.chain) {
			w.occurrences -= dropped
			return dropped, len(v.chain) - dropped
		}
		w.becomeMany(g, v)
	}
	w.privately(v.many, func(m *many) {
		dropped = m.keep(func(_ int, o *occurrence) bool { return !gone(o) })
	})
	w.occurrences -= dropped
	return dropped, len(v.many.records)
}

// bury forgets a group whose row is gone.
func (w *Window) bury(g Group) {
	r := g.row()
	w.release(r)
	w.numbers = readSet(w.numbers[:0], g.block.set(g.n))
	w.tokens.release(w.numbers)
	w.groups.remove(r.key(), g.number())
	w.forgetViews()
	w.epoch++
}

// release gives back what a group with many occurrences holds.
func (w *Window) release(r *row) {
	if !r.isMany() {
		return
	}
	n := int(r.records &^ manyFlag)
	w.held -= w.many[n].bytes()
	w.many[n] = nil
	w.freeMany = append(w.freeMany, n)
}

// move writes a group anew into the newest block, its token set being numbers.
func (w *Window) move(g Group, numbers []uint32) (to Group) {
	r, b := *g.row(), w.current()
	if !r.isMany() {
		r.records = b.place(w.moveChain(g))
	}
	w.bytes = appendSet(w.bytes[:0], numbers)
	r.tokens = b.place(b.arena.put(w.bytes))
	w.forgetViews()
	return w.addRow(r, numbers)
}

// moveChain writes the records of a chain anew, the oldest first.
func (w *Window) moveChain(g Group) (newest uint64) {
	w.chain = w.chain[:0]
	sequence := g.row().sequence
	for pos := g.newest(); pos != 0; {
		w.chain = append(w.chain, occurrence{})
		pos = w.decode(&w.chain[len(w.chain)-1], pos, sequence)
	}
	slices.Reverse(w.chain)
	written := view{}
	for i := range w.chain {
		o := &w.chain[i]
		newest = w.write(o, sequence, links{before: newest, text: written.textLike(o.text, i)})
		w.decode(o, newest, sequence) // for where its text stands now
		written.chain = w.chain[:i+1]
	}
	return newest
}

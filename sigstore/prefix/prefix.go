// Package prefix is the exact prefix index: an inverted index of the rarest tokens of each row, whose postings
// carry the row's signature as a bitmap filter.
//
// Two sets x, y with J(x, y) >= θ share a token among the first n - ceil(θn) + 1 of each, when both are sorted
// by one order of the tokens, whatever that order is ([PPJ], Xiao et al., WWW 2008, Lemma 1). So a row is
// posted under its prefix only, and a search probes its own prefix only. Rarest tokens first keeps the lists
// short; a stale frequency costs time, never a pair. What a probe finds must still pass, in this order: the
// length filter and the lossless Hamming radius between the signatures, in one look at a table, the positional
// filter ([PPJ] 3.1), since tokens before the first common one cannot be common, so at most the shorter rest are, and
// the query's holders (hashcodes.Holders).
//
// # Generations
//
// Rows are posted by generations (generation.go). A generation is a run of rows, of one block or many, with an order
// of the tokens and lists of its own. When its order has become stale, the next one begins: in a window that grows, at
// many times the size; in one that rolls, when three quarters of its rows are new; in any, when searches read too much
// under tokens that the order takes for rare and that are not, as in a campaign. The rows that are there are posted
// again in it, all at once as long as they are few, and then some with each row that comes, so that a search goes
// through one generation, and through two for a while. A generation goes as a whole when the last of its rows has been
// dropped, or posted again: nothing walks its postings, and no link leads from one generation to another. Dropping a
// block costs nothing else: a candidate of a dropped row is left out when it is found, and so is one that is posted
// again.
//
// A number that the window gives to another token goes on to lead to the postings of the former, in generations that
// have them. No live row is among those, since a number is given out again only when no live row holds it; they are
// candidates of dead rows, which the window knows. And the order of a generation never changes: the number
// keeps its class there, for the rows and the searches alike.
//
// # Lists
//
// The list of a token (lists.go) is found by its number, without hashing. It is one chunk of 16 to 4,096 bytes, 12 a
// posting, that is replaced by one a third to twice as large when it is full. One that grows long is cut (node.go): by
// buckets of the rows' sizes, then by cells of a size and a number of tokens that stand before the list's own, so that
// a search reads only what the threshold allows; and then by a second token, of the prefix and one more (key.go). All
// memory is in pages of 16 KiB without pointers.
//
// In a large window a search waits for memory, not for the processor. So it goes through the lists of all its keys,
// and of some queries at once, level by level: it reads a word of each that it will need, without looking at it, and
// looks at them when all are on their way.
//
// The shorter index prefix of [PPJ] Lemma 3 holds only for records in order of size and is not used.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package prefix

import (
	"sort"

	"refrain/hashcodes"
	"refrain/sigstore"
)

// New makes the engine for a threshold's bounds.
func New(bounds *hashcodes.Bounds) sigstore.Engine {
	return func(rows sigstore.Rows) sigstore.Index {
		return &index{source: rows, filters: newFilters(bounds)}
	}
}

var _ sigstore.Index = (*index)(nil)

// index is the index of a window. Its rows are numbered through all blocks, from 0 on.
type index struct {
	source      sigstore.Rows
	filters     *filters
	generations []*generation // oldest first
	blocks      []uint64      // first row of each
	dropped     uint32        // blocks that are gone: the number of the oldest
	next        uint64        // row
	rolls       bool          // a block was dropped since the newest generation began
	entry       sortedEntry   // scratch: of the row that is posted,
	moved       sortedEntry   // and of one that is moved meanwhile
	search      search
	met         int64 // postings that searches have read
	listsRead   int64 // lists and nodes
}

func (x *index) Open() { x.blocks = append(x.blocks, x.next) }

// Drop drops the oldest block, and the generations of which nothing is left.
func (x *index) Drop() {
	x.dropped++
	x.blocks = append(x.blocks[:0], x.blocks[1:]...)
	x.rolls = true
	dropped := 0
	for dropped < len(x.generations) && x.end(dropped) <= x.oldest() {
		dropped++
	}
	x.retain(x.generations[dropped:])
}

// retain drops all generations but the last ones.
func (x *index) retain(last []*generation) {
	n := copy(x.generations, last)
	clear(x.generations[n:])
	x.generations = x.generations[:n]
}

// oldest is the first row of the oldest block.
func (x *index) oldest() uint64 {
	if len(x.blocks) == 0 {
		return x.next
	}
	return x.blocks[0]
}

// end is the row behind a generation's last.
func (x *index) end(generation int) uint64 {
	if generation+1 < len(x.generations) {
		return x.generations[generation+1].first
	}
	return x.next
}

// at is the row as the window knows it.
func (x *index) at(row uint64) sigstore.Row {
	b := sort.Search(len(x.blocks), func(i int) bool { return x.blocks[i] > row }) - 1
	return sigstore.Row{Block: x.dropped + uint32(b), Row: uint32(row - x.blocks[b])}
}

// Add posts the row that comes next. Rows of before come first, since the window has not got this one yet, so that it
// cannot be asked for its tokens; and the signature is noted before all, since it may be lent from what the window
// signs rows with.
func (x *index) Add(tokens []uint32, sig hashcodes.Signature) {
	m := newMeta(len(tokens), sig)
	if x.isStale() {
		x.begin()
	}
	x.postSomeAgain()
	g := x.newest()
	x.post(g, x.next, tokens, m)
	g.remember(x.next, m)
	x.next++
}

// post puts a row into the lists of its keys.
func (x *index) post(g *generation, row uint64, tokens []uint32, m meta) {
	g.lists.add(x.entry.of(x, g, row, tokens, m))
}

// entryOf is the entry of a row that has been posted before.
func (x *index) entryOf(g *generation, p posting) *entry {
	row := g.base + uint64(p.at.row())
	if row < x.oldest() {
		return nil
	}
	tokens := x.source.Tokens(x.at(row))
	if tokens == nil {
		return nil
	}
	return x.moved.of(x, g, row, tokens, p.meta)
}

// sortedEntry is an entry, with the memory of its tokens.
type sortedEntry struct {
	entry
	sorted sorted
}

// of makes the entry of a row. It is valid until the next.
func (s *sortedEntry) of(x *index, g *generation, row uint64, tokens []uint32, m meta) *entry {
	prefix := x.filters.bounds.For(len(tokens)).Prefix
	s.sorted.sort(g, tokens, prefix)
	s.entry = entry{meta: m, row: uint32(row - g.base), tokens: s.sorted.tokens, prefix: prefix, size: len(tokens)}
	return &s.entry
}

// Batch is 1 as long as the index is in the cache, or nearly so, and then as many as keep the memory busy: what one
// query waits for is a chain of reads of memory far away.
func (x *index) Batch() int {
	if x.next-x.oldest() < minBatchedRows {
		return 1
	}
	return maxBatch
}

const minBatchedRows = 1 << 20

// Met is how many postings searches have read.
func (x *index) Met() int64 { return x.met }

// ListsRead is how many lists, and nodes above them, searches have read.
func (x *index) ListsRead() int64 { return x.listsRead }

// Bytes is what the index holds on the heap.
func (x *index) Bytes() int64 {
	n := x.search.bytes() + x.filters.bytes() + x.entry.sorted.bytes() + x.moved.sorted.bytes() + 8*int64(cap(x.blocks))
	for _, g := range x.generations {
		n += g.bytes()
	}
	return n
}

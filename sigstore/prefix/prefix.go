// Package prefix is the exact prefix index: an inverted index of the rarest tokens of each row, whose postings
// carry the row's signature as a bitmap filter.
//
// Two sets x, y with J(x, y) >= θ share a token among the first n - ceil(θn) + 1 of each, when both are sorted
// by one order of the tokens, whatever that order is ([PPJ], Xiao et al., WWW 2008, Lemma 1). So a row is
// posted under its prefix only, and a search probes its own prefix only. Rarest tokens first keeps the lists
// short; a stale frequency costs time, never a pair. What a probe finds must still pass, in this order: the
// length filter, the lossless Hamming radius between the signatures, and the positional filter ([PPJ] 3.1):
// tokens before the first common one cannot be common, so at most 1 + the shorter rest are.
//
// The header of ALGORITHMS section 4 is the source; the shorter index prefix of [PPJ] Lemma 3 holds only for
// records in order of size and is not used.
package prefix

import (
	"math/bits"
	"slices"

	"refrain/hashcodes"
	"refrain/sigstore"
)

// New makes the engine for a threshold's bounds.
func New(bounds *hashcodes.Bounds) sigstore.Engine {
	return func(rows sigstore.Rows) sigstore.Index { return &index{bounds: bounds, source: rows} }
}

// index is the index of a window. Its blocks share the order of tokens as long as it is fresh enough.
type index struct {
	bounds *hashcodes.Bounds
	source sigstore.Rows
	order  *order
	probe  probe
	sorted []uint64 // scratch of Add
	first  uint32   // number of the oldest block
	blocks []*block
	hits   []uint32 // scratch
}

func (x *index) Open() {
	df := x.source.Frequencies()
	if x.order == nil || x.order.stale(df) {
		x.order = newOrder(df)
	}
	x.blocks = append(x.blocks, &block{engine: x, order: x.order})
}

func (x *index) Drop() {
	x.first++
	x.blocks[0] = nil
	x.blocks = x.blocks[1:]
}

func (x *index) Add(tokens []uint32, sig hashcodes.Signature) {
	b := x.blocks[len(x.blocks)-1]
	b.add(uint32(len(b.seen)), tokens, sig)
}

func (x *index) Batch() int { return 1 }

func (x *index) Search(queries []sigstore.Query) {
	for i := range queries {
		q := &queries[i]
		for n, b := range x.blocks {
			x.hits = b.search(x.hits[:0], q.Tokens, q.Size, q.Signature)
			for _, row := range x.hits {
				q.Hits = append(q.Hits, sigstore.Row{Block: x.first + uint32(n), Row: row})
			}
		}
	}
}

// Bytes is what the index holds on the heap.
func (x *index) Bytes() (n int64) {
	for _, b := range x.blocks {
		n += b.lists.bytes() + 4*int64(cap(b.seen))
	}
	return n
}

// order ranks tokens by the logarithm of their frequency at one moment, ties by number. A number that came
// later counts as rare. Any order is right as long as a block is built and searched with the same.
type order struct {
	class []uint8
	rows  uint64 // sum of df when it was made
}

func newOrder(df []uint32) *order {
	o := &order{class: make([]uint8, len(df))}
	for n, f := range df {
		o.class[n] = uint8(bits.Len32(f))
		o.rows += uint64(f)
	}
	return o
}

// stale reports whether the window has changed by a quarter since.
func (o *order) stale(df []uint32) bool {
	var rows uint64
	for _, f := range df {
		rows += uint64(f)
	}
	return rows > o.rows+o.rows/4+1024 || rows < o.rows-o.rows/4
}

// sort writes the tokens' sort keys, rarest first: class in the high half, number in the low.
func (o *order) sort(dst []uint64, numbers []uint32) []uint64 {
	dst = dst[:0]
	for _, n := range numbers {
		var class uint64
		if int(n) < len(o.class) {
			class = uint64(o.class[n])
		}
		dst = append(dst, class<<32|uint64(n))
	}
	slices.Sort(dst)
	return dst
}

// block is the postings of one block.
type block struct {
	engine   *index
	order    *order
	lists    lists
	seen     []uint32 // row -> number of the last search that met it
	searches uint32
}

// add posts a row under its prefix.
func (x *block) add(row uint32, tokens []uint32, sig hashcodes.Signature) {
	e := x.engine
	e.sorted = x.order.sort(e.sorted, tokens)
	p := posting{signature: low64(sig), row: row, size: uint16(len(tokens))}
	for i := range e.bounds.For(len(tokens)).Prefix {
		p.position = uint16(i)
		x.lists.add(uint32(e.sorted[i]), p)
	}
	x.seen = append(x.seen, 0)
}

func low64(sig hashcodes.Signature) uint64 {
	s := uint64(sig[0])
	if len(sig) > 1 {
		s |= uint64(sig[1]) << 32
	}
	return s
}

// countSearch numbers the search. When the numbers wrap, the marks of long ago must not count as new.
func (x *block) countSearch() {
	x.searches++
	if x.searches == 0 {
		clear(x.seen)
		x.searches = 1
	}
}

// probe is a search prepared for one order. Blocks that share the order share the probe.
type probe struct {
	order     *order
	numbers   []uint32 // as given
	tokens    []uint64 // sorted by order
	unknown   int      // tokens that no row holds: they come first, as the rarest
	size      int
	signature uint64
	bounds    *hashcodes.SizeBounds
}

// search appends the rows that pass all filters.
func (x *block) search(hits, tokens []uint32, size int, sig hashcodes.Signature) []uint32 {
	p := x.engine.prepare(x.order, tokens, size, sig)
	x.countSearch()
	for i := p.unknown; i < p.bounds.Prefix; i++ {
		c := x.lists.newest(uint32(p.tokens[i-p.unknown]))
		for c != nil {
			hits = x.filter(hits, p, i, x.lists.of(c))
			c = x.lists.before(c)
		}
	}
	return hits
}

func (e *index) prepare(o *order, tokens []uint32, size int, sig hashcodes.Signature) *probe {
	p := &e.probe
	p.size, p.unknown = size, size-len(tokens)
	p.signature, p.bounds = low64(sig), e.bounds.For(size)
	if p.order != o || !slices.Equal(p.numbers, tokens) {
		p.order, p.numbers = o, append(p.numbers[:0], tokens...)
		p.tokens = o.sort(p.tokens, tokens)
	}
	return p
}

// filter appends the rows of postings of the probe's token at position i that may match.
func (x *block) filter(hits []uint32, p *probe, i int, postings []posting) []uint32 {
	b := p.bounds
	for k := range postings {
		o := &postings[k]
		m := int(o.size) - b.Min
		if uint(m) >= uint(len(b.Radius)) || bits.OnesCount64(o.signature^p.signature) > int(b.Radius[m]) {
			continue
		}
		if 1+min(p.size-i-1, int(o.size-o.position)-1) < int(b.Overlap[m]) || x.seen[o.row] == x.searches {
			continue
		}
		x.seen[o.row] = x.searches
		hits = append(hits, o.row)
	}
	return hits
}

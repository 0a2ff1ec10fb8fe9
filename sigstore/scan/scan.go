// Package scan is the engine that compares signatures: a Hamming range scan over the rows of a window, cut into
// bands by their number of tokens, so that each scan is one run through memory with one radius (DESIGN section 5).
package scan

import (
	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/sigstore"
)

// New makes the engine for a threshold's bounds and signatures of so many words of 32 bits.
func New(bounds *hashcodes.Bounds, words int) sigstore.Engine {
	return func(sigstore.Rows) sigstore.Index { return &index{bounds: bounds, words: words} }
}

// index holds the signatures of a window.
type index struct {
	bounds *hashcodes.Bounds
	words  int
	first  uint32 // number of the oldest block
	blocks []*block
	rows   []uint32 // scratch
}

// block holds the signatures of a block, by number of tokens.
type block struct {
	bySize []band
	rows   uint32
}

// band holds the signatures of the rows with one number of tokens.
type band struct {
	planes [][]uint32 // [word][row of the band]
	rows   []uint32   // row of the block
}

func (x *index) Open() { x.blocks = append(x.blocks, &block{}) }

func (x *index) Drop() {
	x.first++
	x.blocks[0] = nil
	x.blocks = x.blocks[1:]
}

func (x *index) Add(tokens []uint32, sig hashcodes.Signature) {
	b, n := x.blocks[len(x.blocks)-1], len(tokens)
	for len(b.bySize) <= n {
		b.bySize = append(b.bySize, band{planes: make([][]uint32, x.words)})
	}
	to := &b.bySize[n]
	for w, word := range sig {
		to.planes[w] = append(to.planes[w], word)
	}
	to.rows = append(to.rows, b.rows)
	b.rows++
}

func (x *index) Batch() int { return 1 }

func (x *index) Search(queries []sigstore.Query) {
	for i := range queries {
		for n, b := range x.blocks {
			x.search(&queries[i], b, x.first+uint32(n))
		}
	}
}

func (x *index) search(q *sigstore.Query, b *block, number uint32) {
	s := x.bounds.For(q.Size)
	for n := s.Min; n <= min(s.Max, len(b.bySize)-1); n++ {
		from := &b.bySize[n]
		x.rows = hamming.Scan(x.rows[:0], from.planes, q.Signature, int(s.Radius[n-s.Min]))
		for _, i := range x.rows {
			q.Hits = append(q.Hits, sigstore.Row{Block: number, Row: from.rows[i]})
		}
	}
}

func (x *index) Bytes() (n int64) {
	for _, b := range x.blocks {
		n += int64(b.rows)*int64(4*x.words+4)*5/4 + int64(len(b.bySize))*48
	}
	return n
}

package scan_test

import (
	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/sigstore"
)

// first is what the engine was at first: for each query and band one pass through all of the band's rows. It is what
// the benchmarks compare with.
type first struct {
	bounds *hashcodes.Bounds
	words  int
	blocks [][]firstBand
	hits   []uint32
}

type firstBand struct {
	planes [][]uint32
	rows   []uint32
}

func newFirst(bounds *hashcodes.Bounds, words int) *first {
	return &first{bounds: bounds, words: words}
}

func (x *first) Open() { x.blocks = append(x.blocks, nil) }

func (x *first) Add(tokens []uint32, sig hashcodes.Signature) {
	b := &x.blocks[len(x.blocks)-1]
	for len(*b) <= len(tokens) {
		*b = append(*b, firstBand{planes: make([][]uint32, x.words)})
	}
	to := &(*b)[len(tokens)]
	for w, word := range sig {
		to.planes[w] = append(to.planes[w], word)
	}
	to.rows = append(to.rows, uint32(len(to.rows))) // not what it should be, and as dear
}

func (x *first) Drop()        {}
func (x *first) Batch() int   { return 1 }
func (x *first) Bytes() int64 { return 0 }

func (x *first) Search(queries []sigstore.Query) {
	for i := range queries {
		q := &queries[i]
		s := x.bounds.For(q.Size)
		for number, b := range x.blocks {
			for n := s.Min; n <= min(s.Max, len(b)-1); n++ {
				x.hits = hamming.Scan(x.hits[:0], b[n].planes, q.Signature, int(s.Radius[n-s.Min]))
				for _, position := range x.hits {
					q.Hits = append(q.Hits, sigstore.Row{Block: uint32(number), Row: b[n].rows[position]})
				}
			}
		}
	}
}

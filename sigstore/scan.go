package sigstore

import (
	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
)

// scan compares signatures: each block keeps its rows in bands, one a token count, and a search is a Hamming
// range scan of the bands whose sizes can match, each with its own lossless radius.
type scan struct {
	bounds *hashcodes.Bounds
	words  int
	rows   []uint32 // scratch
}

// Scan is the engine that scans signatures of so many 32-bit words.
func Scan(bounds *hashcodes.Bounds, words int) Engine {
	s := &scan{bounds: bounds, words: words}
	return func([]uint32) Index { return &bands{scan: s} }
}

// band holds the signatures of the rows with one token count, in word planes.
type band struct {
	planes [][]uint32 // [word][row of the band]
	rows   []uint32   // row of the block
}

type bands struct {
	scan   *scan
	bySize []band
	count  int
}

func (b *bands) Add(row uint32, tokens []uint32, sig hashcodes.Signature) {
	n := len(tokens)
	for len(b.bySize) <= n {
		b.bySize = append(b.bySize, band{planes: make([][]uint32, b.scan.words)})
	}
	to := &b.bySize[n]
	for w, word := range sig {
		to.planes[w] = append(to.planes[w], word)
	}
	to.rows = append(to.rows, row)
	b.count++
}

func (b *bands) Search(hits, _ []uint32, size int, sig hashcodes.Signature) []uint32 {
	s := b.scan.bounds.For(size)
	for n := s.Min; n <= min(s.Max, len(b.bySize)-1); n++ {
		from := &b.bySize[n]
		b.scan.rows = hamming.Scan(b.scan.rows[:0], from.planes, sig, int(s.Radius[n-s.Min]))
		for _, i := range b.scan.rows {
			hits = append(hits, from.rows[i])
		}
	}
	return hits
}

func (b *bands) Bytes() int64 {
	return int64(b.count)*int64(4*b.scan.words+4)*5/4 + int64(len(b.bySize))*48
}

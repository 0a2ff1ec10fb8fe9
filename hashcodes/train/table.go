package train

import (
	"cmp"
	"slices"

	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
)

// table holds sets by rising size beside the word planes of their signatures, so that all sets of a range of sizes are
// a range of rows.
type table struct {
	sets   [][]uint64
	band   [hashcodes.MaxSize + 2]int // first row of each size
	planes [][]uint32
}

// newTable returns the table of the sets, whose planes are still zero.
func newTable(sets [][]uint64, words int) *table {
	t := &table{sets: slices.Clone(sets), planes: make([][]uint32, words)}
	slices.SortStableFunc(t.sets, func(a, b []uint64) int { return cmp.Compare(len(a), len(b)) })
	for size := range t.band {
		t.band[size], _ = slices.BinarySearchFunc(t.sets, size,
			func(set []uint64, size int) int { return cmp.Compare(len(set), size) })
	}
	for w := range t.planes {
		t.planes[w] = make([]uint32, len(sets))
	}
	return t
}

// sign fills the planes with the model's signatures.
func (t *table) sign(m *hashcodes.Model) {
	sig := make(hashcodes.Signature, m.Words())
	for row, set := range t.sets {
		for w, word := range m.Sign(sig, set) {
			t.planes[w][row] = word
		}
	}
}

// signature overwrites dst with that of a row.
func (t *table) signature(dst hashcodes.Signature, row uint32) hashcodes.Signature {
	for w, plane := range t.planes {
		dst[w] = plane[row]
	}
	return dst
}

// parts appends the scans for the partners of a set of n tokens: one for each size that they may have, with the
// lossless radius and some extra bits.
func (t *table) parts(dst []hamming.Part, b *hashcodes.SizeBounds, sig hashcodes.Signature, extra int) []hamming.Part {
	for size := b.Min; size <= b.Max; size++ {
		from, to := t.band[size], t.band[size+1]
		if from == to {
			continue
		}
		i := len(dst)
		if i < cap(dst) {
			dst = dst[:i+1] // keep the buffer of its hits
		} else {
			dst = append(dst, hamming.Part{})
		}
		dst[i] = hamming.Part{
			Query: hamming.Query{Signature: sig, Radius: int(b.Radius[size-b.Min]) + extra, Hits: dst[i].Hits[:0]},
			From:  from, To: to,
		}
	}
	return dst
}

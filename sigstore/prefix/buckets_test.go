package prefix

import (
	"testing"

	"refrain/hashcodes"
)

// TestSlots: whatever the sizes of two partners, and whatever their keys pass over, the filter of one has the slots of the
// other.
func TestSlots(t *testing.T) {
	for _, similar := range append(measures, jaccardAt(1, 4), jaccardAt(19, 20)) {
		bounds := hashcodes.NewBounds(similar, 1)
		filters := newFilters(bounds)
		for _, n := range []int{1, 2, 3, 5, 8, 9, 10, 11, 12, 13, 20, 40, 77, 200, 254, 255, 256} {
			f, b := filters.of(n), bounds.For(n)
			for m := b.Min; m <= b.Max; m++ {
				overlap := int(b.Overlap[m-b.Min])
				if missing := filters.buckets.missing(f, m, n-overlap, m-overlap); missing > 0 {
					t.Errorf("%v: sizes %d and %d: %d slots are missing", similar, n, m, missing)
				}
			}
		}
	}
}

// missing counts the slots of rows of a size, whose keys pass over at most so many tokens, that a filter leaves out for
// keys that pass over at most own.
func (b *buckets) missing(f *filter, size, own, other int) (n int) {
	code := sizeCode(size)
	for passed := range own + 1 {
		k := key{passed: uint8(passed), length: 1}
		for row := range other + 1 {
			slot := b.slot(code, (key{passed: uint8(row), length: 1}).capped())
			if !f.sizes[k.capped()].has(b.of[code]) || !f.cells[k.capped()][b.of[code]].has(slot) {
				n++
			}
		}
	}
	return n
}

// TestCells: each size of up to some words has slots of its own in a node by cell, by as many tokens passed over as
// matter.
func TestCells(t *testing.T) {
	for _, similar := range measures {
		bounds := hashcodes.NewBounds(similar, 1)
		b := newBuckets(bounds)
		for m := 1; m < 12; m++ {
			slots := map[uint8]bool{}
			for passed := range min(bounds.For(m).Prefix, minPlaces) {
				slots[b.slot(uint8(m), passed)] = true
			}
			if len(slots) < min(bounds.For(m).Prefix, minPlaces) {
				t.Errorf("%v: size %d has %d slots", similar, m, len(slots))
			}
			if next := uint8(m + 1); b.of[next] == b.of[m] && slots[b.slot(next, 0)] {
				t.Errorf("%v: sizes %d and %d share slots", similar, m, next)
			}
		}
	}
}

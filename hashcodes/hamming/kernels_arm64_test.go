//go:build !purego

package hamming

import "testing"

// TestSkip sees that the assembly decides: a scan that leaves all rows to plain Go would be right, and slow.
func TestSkip(t *testing.T) {
	const rows = 100
	for hit := range rows {
		plane, other := make([]uint32, rows), make([]uint32, rows)
		for row := range plane {
			plane[row], other[row] = 0b1111, 0b1
		}
		plane[hit], other[hit] = 0b111, 0
		query := []uint32{0, 0}
		if got, want := skipWord(&plane[0], &query[0], 3, 0, rows), min(hit/32*32, 96); got != want {
			t.Errorf("hit in row %d: skipWord went to %d, want %d", hit, got, want)
		}
		planes := [][]uint32{plane, other}
		if got, want := skipWords(&planes[0], 2, &query[0], 3, 0, rows), min(hit/16*16, 96); got != want {
			t.Errorf("hit in row %d: skipWords went to %d, want %d", hit, got, want)
		}
	}
}

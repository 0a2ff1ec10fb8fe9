package hamming

import "math/bits"

// scanGo is the reference.
func scanGo(hits []uint32, planes [][]uint32, query []uint32, radius int) []uint32 {
	if len(planes) != len(query) {
		panic("hamming: planes and query of different length")
	}
	for row := range planes[0] {
		d := 0
		for w, q := range query {
			d += bits.OnesCount32(planes[w][row] ^ q)
		}
		if d <= radius {
			hits = append(hits, uint32(row))
		}
	}
	return hits
}

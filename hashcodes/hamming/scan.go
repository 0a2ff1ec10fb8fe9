package hamming

import "math/bits"

// scanGo is the reference: the definition of Scan in plain Go, with one and two words written out, since most
// models have signatures of 32 or 64 bits.
func scanGo(hits []uint32, planes [][]uint32, query []uint32, radius, from, to int) []uint32 {
	switch len(query) {
	case 1:
		return scan1(hits, planes[0][:to], query[0], radius, from)
	case 2:
		return scan2(hits, planes[0][:to], planes[1][:to], query, radius, from)
	default:
		return scanAny(hits, planes, query, radius, from, to)
	}
}

// scan1 takes four rows at a time. Hits are rare, so one branch for the four is what it costs: the difference
// radius − distance is negative, its sign bit set, for a row outside, and the AND of the four signs says whether
// all of them are.
func scan1(hits []uint32, plane []uint32, q uint32, radius, row int) []uint32 {
	for ; row+4 <= len(plane); row += 4 {
		p := plane[row : row+4 : row+4]
		a := radius - bits.OnesCount32(p[0]^q)
		b := radius - bits.OnesCount32(p[1]^q)
		c := radius - bits.OnesCount32(p[2]^q)
		d := radius - bits.OnesCount32(p[3]^q)
		if a&b&c&d >= 0 {
			hits = appendInside(hits, row, a, b, c, d)
		}
	}
	for ; row < len(plane); row++ {
		if bits.OnesCount32(plane[row]^q) <= radius {
			hits = append(hits, uint32(row))
		}
	}
	return hits
}

// scan2 is scan1 for two words, joined so that a row costs one popcount.
func scan2(hits []uint32, low, high []uint32, query []uint32, radius, row int) []uint32 {
	q := join(query[0], query[1])
	high = high[:len(low)]
	for ; row+4 <= len(low); row += 4 {
		l, h := low[row:row+4:row+4], high[row:row+4:row+4]
		a := radius - bits.OnesCount64(join(l[0], h[0])^q)
		b := radius - bits.OnesCount64(join(l[1], h[1])^q)
		c := radius - bits.OnesCount64(join(l[2], h[2])^q)
		d := radius - bits.OnesCount64(join(l[3], h[3])^q)
		if a&b&c&d >= 0 {
			hits = appendInside(hits, row, a, b, c, d)
		}
	}
	for ; row < len(low); row++ {
		if bits.OnesCount64(join(low[row], high[row])^q) <= radius {
			hits = append(hits, uint32(row))
		}
	}
	return hits
}

func join(low, high uint32) uint64 { return uint64(high)<<32 | uint64(low) }

// appendInside appends those of four rows from row on whose margin is not negative.
func appendInside(hits []uint32, row int, margins ...int) []uint32 {
	for i, margin := range margins {
		if margin >= 0 {
			hits = append(hits, uint32(row+i))
		}
	}
	return hits
}

// tile is the number of rows that scanAny takes through all planes before it goes on: their margins stay in the
// nearest cache.
const tile = 256

// scanAny works for any number of words.
func scanAny(hits []uint32, planes [][]uint32, query []uint32, radius, from, to int) []uint32 {
	var margins [tile]int32
	for start := from; start < to; start += tile {
		rows := margins[:min(tile, to-start)]
		for i := range rows {
			rows[i] = int32(radius)
		}
		subtractDistances(rows, planes, query, start)
		for i, margin := range rows {
			if margin >= 0 {
				hits = append(hits, uint32(start+i))
			}
		}
	}
	return hits
}

// subtractDistances takes from every margin the distance of its row, from row start on, four planes at a time.
func subtractDistances(margins []int32, planes [][]uint32, query []uint32, start int) {
	w := 0
	for ; w+4 <= len(query); w += 4 {
		subtract4(margins, planes[w:w+4], query[w:w+4], start)
	}
	for ; w < len(query); w++ {
		plane := planes[w][start:][:len(margins)]
		for i := range margins {
			margins[i] -= int32(bits.OnesCount32(plane[i] ^ query[w]))
		}
	}
}

func subtract4(margins []int32, planes [][]uint32, query []uint32, start int) {
	p0, p1 := planes[0][start:][:len(margins)], planes[1][start:][:len(margins)]
	p2, p3 := planes[2][start:][:len(margins)], planes[3][start:][:len(margins)]
	q, r := join(query[0], query[1]), join(query[2], query[3])
	for i := range margins {
		margins[i] -= int32(bits.OnesCount64(join(p0[i], p1[i])^q) + bits.OnesCount64(join(p2[i], p3[i])^r))
	}
}

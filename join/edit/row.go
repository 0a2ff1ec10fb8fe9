package edit

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// row is a string in the order of the join.
type row struct {
	text   string
	parity uint64 // its signature
	length int32  // characters
	place  int32  // in its collection
	side   uint8  // which collection: 0, or 1 of two
}

// rowsOf puts the strings of all collections, so many, into one order, by rising length.
func rowsOf(sides [][]string, total int) []row {
	rows := make([]row, 0, total)
	for side, strings := range sides {
		for place, s := range strings {
			rows = append(rows, row{s, parityOf(s), int32(utf8.RuneCountInString(s)), int32(place), uint8(side)})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.length, b.length), cmp.Compare(a.side, b.side), cmp.Compare(a.place, b.place))
	})
	return rows
}

// parityOf is the signature of a string: each pair of neighbouring characters turns one of 64 bits.
func parityOf(s string) (parity uint64) {
	last := rune(-1)
	for _, r := range s {
		if last >= 0 {
			parity ^= 1 << (mix(uint64(last)<<32|uint64(r)) >> 58)
		}
		last = r
	}
	return parity
}

// turned is how many bits of their signatures a distance can turn, of strings that differ so much in length: a
// substitution takes two pairs of neighbours away and brings two, what makes a string longer or shorter three in all.
func turned(distance, longer int) int { return 4*distance - longer }

// mix is a bijection after which each bit depends on all (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// appendRunes appends the characters of a string.
func appendRunes(dst []rune, s string) []rune {
	for _, r := range s {
		dst = append(dst, r)
	}
	return dst
}

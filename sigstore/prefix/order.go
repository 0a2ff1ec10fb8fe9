package prefix

import (
	"math/bits"
	"slices"
)

// order ranks the tokens, rarest first, by their frequency at one moment; tokens of one class by their number, the
// highest first: the window gives numbers in order, so that what is unknown to the order is likely to be rare when
// its number is high. Any order is right as long as rows are posted and searched for with the same.
type order struct{ class []uint8 } // by token number; of those beyond it is 0

// newOrder makes eight classes for each doubling of the frequency.
func newOrder(df []uint32) order {
	o := order{make([]uint8, len(df))}
	for n, f := range df {
		if f > 0 {
			octave := bits.Len32(f)
			o.class[n] = uint8(min(octave<<3|int(f<<(32-octave)>>28&7), 255))
		}
	}
	return o
}

func (o *order) bytes() int64 { return int64(cap(o.class)) }

// rank is what one of a set's tokens is sorted by: its class, and its place in the set, counted from the end.
type rank uint16

// position is the token's place in the set. Sets are in order of the numbers.
func (k rank) position() int { return 255 - int(k&255) }

// isRare reports whether the order knows of fewer than 32 rows with the token.
func (k rank) isRare() bool { return k < 6<<3<<8 }

// short is the length up to which a prefix is kept sorted by insertion.
const short = 24

// rarest overwrites dst with the ranks of the n rarest tokens of a set, in order. It reads the classes of all before it
// looks at any: in a large window each is a cache miss.
func (o *order) rarest(dst []rank, tokens []uint32, n int) []rank {
	dst = dst[:0]
	if n == 0 {
		return dst
	}
	for i, t := range tokens {
		k := rank(255 - i)
		if int(t) < len(o.class) {
			k |= rank(o.class[t]) << 8
		}
		dst = append(dst, k)
	}
	if n > short {
		slices.Sort(dst)
		return dst[:min(n, len(dst))]
	}
	return smallest(dst, n)
}

// smallest are the n smallest ranks, in order.
func smallest(ranks []rank, n int) []rank {
	first := ranks[:0]
	for _, k := range ranks {
		switch {
		case len(first) < n:
			first = append(first, k)
		case k < first[n-1]:
			first[n-1] = k
		default:
			continue
		}
		sink(first)
	}
	return first
}

// sink moves the last rank to its place among the others, which are sorted.
func sink(ranks []rank) {
	i := len(ranks) - 1
	k := ranks[i]
	for ; i > 0 && ranks[i-1] > k; i-- {
		ranks[i] = ranks[i-1]
	}
	ranks[i] = k
}

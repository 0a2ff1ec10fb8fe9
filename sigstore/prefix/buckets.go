package prefix

import (
	"math/bits"

	"refrain/hashcodes"
)

// buckets say in which slots of nodes the rows of a size are.
type buckets struct {
	// of is the slot in a node by size. Those that go with any one size are in few of them: the largest size of a
	// bucket goes with the first, and is at most maxSpread times as large.
	of [lastSize + 1]uint8
	// cell is the first slot in a node by cell, and places how many slots there are from there on, by the tokens that
	// the key passes over. As far as there is room each size has its own.
	cell, places [lastSize + 1]uint8
}

const (
	maxSpread = 1.25
	minPlaces = 5 // of a cell, if the prefix is as long: before sizes share one, none has fewer
)

func newBuckets(bounds *hashcodes.Bounds) (b buckets) {
	first, bucket := 1, 0
	for m := 2; m <= lastSize; m++ {
		if (m > bounds.For(first).Max || float64(m) > maxSpread*float64(first)) && bucket < nodeLinks-1 {
			b.share(first, m, bounds.For(m-1).Prefix)
			bucket, first = bucket+1, m
		}
		b.of[m] = uint8(bucket)
	}
	b.share(first, lastSize+1, bounds.For(lastSize).Prefix)
	return b
}

// share shares the slots of a node by cell among the sizes of a bucket, from one to before another, with a prefix of at
// most so many tokens.
func (b *buckets) share(from, to, prefix int) {
	width, places := 1, 0
	for ; ; width++ {
		places = nodeLinks / ((to - from + width - 1) / width)
		if places >= min(prefix, minPlaces) {
			break
		}
	}
	for m := from; m < to; m++ {
		b.cell[m], b.places[m] = uint8((m-from)/width*places), uint8(places)
	}
}

// slot is that of a row in a node by cell.
func (b *buckets) slot(size uint8, passed int) uint8 {
	return b.cell[size] + min(uint8(passed), b.places[size]-1)
}

// upTo are the slots of the rows of a size whose key passes over at most so many tokens.
func (b *buckets) upTo(size uint8, passed int) (s slots) {
	for slot := b.cell[size]; slot <= b.slot(size, min(passed, lastPassed)); slot++ {
		s.add(slot)
	}
	return s
}

// slots are some of a node, a bit each.
type slots uint16

func (s *slots) add(slot uint8)     { *s |= 1 << slot }
func (s slots) has(slot uint8) bool { return s>>slot&1 == 1 }

// next takes out the first, if there is one.
func (s *slots) next() uint8 {
	slot := bits.TrailingZeros16(uint16(*s))
	*s &= *s - 1
	return uint8(slot)
}

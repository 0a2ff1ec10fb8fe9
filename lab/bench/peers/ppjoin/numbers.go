package ppjoin

import "math/bits"

// firstGiven is the number of the rarest token of the order given up front; the others follow. Tokens that came later
// count down from below it, so that all numbers sort rarest first and never change.
const firstGiven = 1 << 31

// numbers gives every token id its place in the order: a hash table with linear probing, at most half full. Ids are
// hashes already.
type numbers struct {
	slots []slot
	shift int // of an id to a place in slots
	used  int
	fresh uint32 // tokens that were not given
}

type slot struct {
	id     uint64
	number uint32 // 0: empty
}

func newNumbers(order []uint64) *numbers {
	n := &numbers{}
	n.resize(max(1024, 2*len(order)+2))
	for i, id := range order {
		n.slots[n.find(id)] = slot{id, firstGiven + uint32(i)}
	}
	n.used = len(order)
	return n
}

// of appends the numbers of ids.
func (n *numbers) of(dst []uint32, ids []uint64) []uint32 {
	for _, id := range ids {
		s := &n.slots[n.find(id)]
		if s.number == 0 {
			n.fresh++
			n.used++
			*s = slot{id, firstGiven - n.fresh}
		}
		dst = append(dst, s.number)
		if 2*n.used > len(n.slots) {
			n.resize(2 * len(n.slots))
		}
	}
	return dst
}

// find is the place of an id, or the empty one where it belongs.
func (n *numbers) find(id uint64) uint64 {
	i := id * 0x9E3779B97F4A7C15 >> n.shift
	for n.slots[i].number != 0 && n.slots[i].id != id {
		i = (i + 1) & uint64(len(n.slots)-1)
	}
	return i
}

// resize makes room for at least so many slots: a power of two.
func (n *numbers) resize(minSlots int) {
	old := n.slots
	log := bits.Len(uint(minSlots - 1))
	n.slots, n.shift = make([]slot, 1<<log), 64-log
	for _, s := range old {
		if s.number != 0 {
			n.slots[n.find(s.id)] = s
		}
	}
}

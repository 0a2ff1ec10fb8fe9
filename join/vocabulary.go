package join

import "math/rand/v2"

// vocabulary numbers tokens in the order in which they come: a hash table of linear probing, at most half full. Ids may be
// anything, so places depend on a random number: nobody can choose ids that all fall together.
type vocabulary struct {
	slots     []uint32 // 1 + the number of a token; 0: none
	shift     int
	factor    uint64
	ids       []uint64 // by number
	frequency []uint32 // sets that have it
	last      []uint32 // the set that had it last, from 1
}

// add appends the numbers of a set's tokens to dst, each once, and counts them. Sets are told apart by their number.
func (v *vocabulary) add(dst []uint32, tokens []uint64, set uint32) []uint32 {
	for _, id := range tokens {
		n := v.number(id)
		if v.last[n] == set {
			continue
		}
		v.last[n] = set
		v.frequency[n]++
		dst = append(dst, n)
	}
	return dst
}

// remove takes back what add has counted for the last set.
func (v *vocabulary) remove(set []uint32) {
	for _, n := range set {
		v.frequency[n]--
		v.last[n] = 0
	}
}

// number finds a token, or gives it the next number.
func (v *vocabulary) number(id uint64) uint32 {
	if 2*len(v.ids) >= len(v.slots) {
		v.grow()
	}
	slot := v.find(id)
	if *slot == 0 {
		v.ids, v.frequency, v.last = append(v.ids, id), append(v.frequency, 0), append(v.last, 0)
		*slot = uint32(len(v.ids))
	}
	return *slot - 1
}

// find is the place of a token, or the empty one where it belongs. There is one.
func (v *vocabulary) find(id uint64) *uint32 {
	mask := uint64(len(v.slots) - 1)
	for i := (id ^ id>>32) * v.factor >> v.shift; ; i = (i + 1) & mask {
		if n := v.slots[i]; n == 0 || v.ids[n-1] == id {
			return &v.slots[i]
		}
	}
}

func (v *vocabulary) grow() {
	if v.slots == nil {
		v.shift, v.factor = 64-9, rand.Uint64()|1
	}
	v.shift--
	v.slots = make([]uint32, 1<<(64-v.shift))
	for n, id := range v.ids {
		*v.find(id) = uint32(n + 1)
	}
}

func (v *vocabulary) bytes() int64 {
	return 4*int64(cap(v.slots)+cap(v.frequency)+cap(v.last)) + 8*int64(cap(v.ids))
}

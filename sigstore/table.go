package sigstore

import (
	"encoding/binary"
	"math/bits"
)

// table finds numbers by the hash of what they stand for, which is kept elsewhere: open addressing over two arrays
// without pointers, 5 bytes a slot, in the manner of a Swiss table: a byte of each hash is compared, eight slots at
// once, before anything else is looked at.
type table struct {
	tags  []uint8 // of each slot: free, gone, or firstTag and more
	slots []uint32
	live  int // numbers
	used  int // slots that are not free
}

const (
	freeTag  = 0
	goneTag  = 1
	firstTag = 2

	lanes = 8
)

func tagOf(hash uint64) uint8 { return firstTag + uint8(hash%(256-firstTag)) }

// home is the group of slots where the search for a hash begins.
func (t *table) home(hash uint64) int {
	hi, _ := bits.Mul64(hash*0x9E3779B97F4A7C15, uint64(len(t.tags)/lanes))
	return int(hi) * lanes
}

// matching has the top bit of each byte of word set that equals tag, and now and then of one that does not, above
// one that does.
func matching(word uint64, tag uint8) uint64 {
	x := word ^ 0x0101010101010101*uint64(tag)
	return (x - 0x0101010101010101) & ^x & 0x8080808080808080
}

// find returns the number under hash for which is holds.
func (t *table) find(hash uint64, is func(uint32) bool) (number uint32, ok bool) {
	if t.live == 0 {
		return 0, false
	}
	tag := tagOf(hash)
	for i := t.home(hash); ; i = t.next(i) {
		word := binary.LittleEndian.Uint64(t.tags[i:])
		for m := matching(word, tag); m != 0; m &= m - 1 {
			slot := i + bits.TrailingZeros64(m)/8
			if t.tags[slot] == tag && is(t.slots[slot]) {
				return t.slots[slot], true
			}
		}
		if matching(word, freeTag) != 0 {
			return 0, false
		}
	}
}

func (t *table) next(i int) int {
	if i += lanes; i < len(t.tags) {
		return i
	}
	return 0
}

// first is the number that find looks at first; ok is false where find has to look further.
func (t *table) first(hash uint64) (number uint32, ok bool) {
	if t.live == 0 {
		return 0, false
	}
	i := t.home(hash)
	m := matching(binary.LittleEndian.Uint64(t.tags[i:]), tagOf(hash))
	if m == 0 {
		return 0, false
	}
	return t.slots[i+bits.TrailingZeros64(m)/8], true
}

// add puts a number that is not there yet under a hash; hashOf tells the hash of those that are.
func (t *table) add(hash uint64, number uint32, hashOf func(uint32) uint64) {
	if 8*(t.used+1) > 7*len(t.tags) {
		t.resize(hashOf)
	}
	t.place(hash, number)
}

func (t *table) place(hash uint64, number uint32) {
	for i := t.home(hash); ; i = t.next(i) {
		word := binary.LittleEndian.Uint64(t.tags[i:])
		m := matching(word, freeTag)
		if m == 0 {
			continue
		}
		slot := i + bits.TrailingZeros64(m)/8
		t.tags[slot], t.slots[slot] = tagOf(hash), number
		t.live++
		t.used++
		return
	}
}

// resize makes room for half as many numbers again as there are.
func (t *table) resize(hashOf func(uint32) uint64) {
	old := *t
	n := (t.live + t.live*3/4 + 2*lanes) / lanes * lanes
	*t = table{tags: make([]uint8, n), slots: make([]uint32, n)}
	for i, tag := range old.tags {
		if tag >= firstTag {
			t.place(hashOf(old.slots[i]), old.slots[i])
		}
	}
}

// remove takes a number away.
func (t *table) remove(hash uint64, number uint32) {
	t.replace(hash, number, func(slot int) {
		t.tags[slot] = goneTag
		t.live--
	})
}

// renumber puts another number in the place of one.
func (t *table) renumber(hash uint64, from, to uint32) {
	t.replace(hash, from, func(slot int) { t.slots[slot] = to })
}

func (t *table) replace(hash uint64, number uint32, change func(slot int)) {
	tag := tagOf(hash)
	for i := t.home(hash); ; i = t.next(i) {
		word := binary.LittleEndian.Uint64(t.tags[i:])
		for m := matching(word, tag); m != 0; m &= m - 1 {
			slot := i + bits.TrailingZeros64(m)/8
			if t.tags[slot] == tag && t.slots[slot] == number {
				change(slot)
				return
			}
		}
		if matching(word, freeTag) != 0 {
			panic("sigstore: a number that the table does not hold")
		}
	}
}

func (t *table) bytes() int64 { return 5 * int64(len(t.tags)) }

package sigstore

import "math/bits"

// table finds numbers by the hash of what they stand for, which is kept elsewhere: open addressing without pointers, in
// the manner of a Swiss table: a byte of each hash is compared, those of a bucket at once, before anything else is
// looked at.
type table struct {
	buckets []bucket
	live    int // numbers
	used    int // slots that are not free
}

// newTable has room for half as many numbers again as are to come.
func newTable(live int) table { return table{buckets: make([]bucket, (live+live*3/4)/lanes+2)} }

// bucket is a line of the cache.
type bucket struct {
	tags    [2]uint64 // a byte for each slot: free, gone, or firstTag and more; the last four bytes are for none
	numbers [lanes]uint32
}

const (
	freeTag  = 0
	goneTag  = 1
	firstTag = 2

	lanes = 12
)

// inUse are the top bits of the bytes of tags that are for a slot.
var inUse = [2]uint64{0x8080808080808080, 0x80808080}

func tagOf(hash uint64) uint8 { return firstTag + uint8(hash%(256-firstTag)) }

// home is the bucket where the search for a hash begins.
func (t *table) home(hash uint64) int {
	hi, _ := bits.Mul64(hash*0x9E3779B97F4A7C15, uint64(len(t.buckets)))
	return int(hi)
}

// matching has the top bit of each byte of word set that equals tag, and now and then of one that does not, above
// one that does.
func matching(word uint64, tag uint8) uint64 {
	x := word ^ 0x0101010101010101*uint64(tag)
	return (x - 0x0101010101010101) & ^x & 0x8080808080808080
}

func (b *bucket) tag(slot int) uint8 { return uint8(b.tags[slot/8] >> (slot % 8 * 8)) }

func (b *bucket) setTag(slot int, tag uint8) {
	shift := slot % 8 * 8
	b.tags[slot/8] = b.tags[slot/8]&^(0xff<<shift) | uint64(tag)<<shift
}

// free is a free slot, lanes if there is none.
func (b *bucket) free() int {
	for w, tags := range b.tags {
		if m := matching(tags, freeTag) & inUse[w]; m != 0 {
			return 8*w + bits.TrailingZeros64(m)/8
		}
	}
	return lanes
}

// slot finds the slot of a number under hash for which matches holds.
func (t *table) slot(hash uint64, matches func(uint32) bool) (b *bucket, slot int, ok bool) {
	if t.live == 0 {
		return nil, 0, false
	}
	tag := tagOf(hash)
	for i := t.home(hash); ; i = t.next(i) {
		b := &t.buckets[i]
		for w, tags := range b.tags {
			for m := matching(tags, tag); m != 0; m &= m - 1 {
				slot := 8*w + bits.TrailingZeros64(m)/8
				if b.tag(slot) == tag && matches(b.numbers[slot]) {
					return b, slot, true
				}
			}
		}
		if b.free() < lanes {
			return nil, 0, false
		}
	}
}

func (t *table) next(i int) int {
	if i++; i < len(t.buckets) {
		return i
	}
	return 0
}

// find returns the number under hash for which matches holds.
func (t *table) find(hash uint64, matches func(uint32) bool) (number uint32, ok bool) {
	b, slot, ok := t.slot(hash, matches)
	if !ok {
		return 0, false
	}
	return b.numbers[slot], true
}

// word is one of the bucket of a hash: to read it asks for the memory of the bucket.
func (t *table) word(hash uint64) uint64 {
	if len(t.buckets) == 0 {
		return 0
	}
	return t.buckets[t.home(hash)].tags[0]
}

// first is the number that find looks at first; ok is false where find has to look further.
func (t *table) first(hash uint64) (number uint32, ok bool) {
	if t.live == 0 {
		return 0, false
	}
	b, tag := &t.buckets[t.home(hash)], tagOf(hash)
	if m := matching(b.tags[0], tag); m != 0 {
		return b.numbers[bits.TrailingZeros64(m)/8], true
	}
	if m := matching(b.tags[1], tag); m != 0 {
		return b.numbers[8+bits.TrailingZeros64(m)/8], true
	}
	return 0, false
}

// add puts a number that is not there yet under a hash; hashOf tells the hash of those that are.
func (t *table) add(hash uint64, number uint32, hashOf func(uint32) uint64) {
	if 8*(t.used+1) > 7*lanes*len(t.buckets) {
		t.resize(hashOf)
	}
	t.put(hash, number)
}

func (t *table) put(hash uint64, number uint32) {
	for i := t.home(hash); ; i = t.next(i) {
		b := &t.buckets[i]
		slot := b.free()
		if slot == lanes {
			continue
		}
		b.setTag(slot, tagOf(hash))
		b.numbers[slot] = number
		t.live++
		t.used++
		return
	}
}

// resize makes room for half as many numbers again as there are.
func (t *table) resize(hashOf func(uint32) uint64) {
	old := t.buckets
	*t = newTable(t.live)
	for i := range old {
		for slot, number := range old[i].numbers {
			if old[i].tag(slot) >= firstTag {
				t.put(hashOf(number), number)
			}
		}
	}
}

// remove takes a number away.
func (t *table) remove(hash uint64, number uint32) {
	b, slot := t.mustHave(hash, number)
	b.setTag(slot, goneTag)
	t.live--
}

// renumber puts another number in the place of one.
func (t *table) renumber(hash uint64, from, to uint32) {
	b, slot := t.mustHave(hash, from)
	b.numbers[slot] = to
}

func (t *table) mustHave(hash uint64, number uint32) (*bucket, int) {
	b, slot, ok := t.slot(hash, func(n uint32) bool { return n == number })
	if !ok {
		panic("sigstore: a number that the table does not hold")
	}
	return b, slot
}

func (t *table) bytes() int64 { return 64 * int64(len(t.buckets)) }

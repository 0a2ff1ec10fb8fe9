package prefix

// link leads to a chunk or a node: the class in the low 4 bits, then the number of its first unit. 0 leads nowhere:
// unit 0 is not given out.
type link uint32

const (
	unitWords = 2 // 16 bytes: a posting and a link
	pageWords = 2048
	pageUnits = pageWords / unitWords

	classBits = 4
	tail      = 8  // class with which a chain of chunks goes on
	largest   = 12 // class of the largest chunk
	nodeClass = 15 // class of nodes
)

// units of a chunk, and the postings that it has room for, by its class.
var (
	units    = [largest + 1]int{1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256}
	capacity = [largest + 1]int{1, 2, 5, 10, 21, 31, 42, 63, 85, 127, 170, 255, 341}
)

func (k link) class() int { return int(k & (1<<classBits - 1)) }
func (k link) unit() int  { return int(k >> classBits) }

func newLink(unit, class int) link { return link(unit<<classBits | class) }

// chunk is the memory of a chunk of capacity n: n metas, then n places, two a word, then in the last half word the link
// to the next chunk. It fills from the end: while meta 0 is free, it counts the postings, in its bits from 8 on, which
// makes it none of a row, for a size is never 0.
type chunk []uint64

func (l *lists) chunk(k link) chunk { return l.memory(k.unit(), units[k.class()]) }

func (l *lists) memory(unit, n int) chunk {
	begin := unit % pageUnits * unitWords
	return l.pages[unit/pageUnits][begin : begin+n*unitWords]
}

// page is a piece of the memory that chunks are cut from.
type page [pageWords]uint64

func (c chunk) next() link     { return link(c[len(c)-1] >> 32) }
func (c chunk) setNext(k link) { setHalf(&c[len(c)-1], 1, uint32(k)) }

// used is the number of postings, and free that of those that there is room for.
func (c chunk) used(n int) int {
	if uint8(c[0]) != 0 {
		return n
	}
	return int(c[0] >> 8)
}

func (c chunk) free(n int) int { return n - c.used(n) }

func (c chunk) at(n, i int) posting { return posting{meta(c[i]), rowPosition(half(c[n+i/2], i%2))} }

func (c chunk) set(n, i int, p posting) {
	c[i] = uint64(p.meta)
	setHalf(&c[n+i/2], i%2, uint32(p.at))
}

// add puts a posting into a chunk that has room for so many.
func (c chunk) add(n, free int, p posting) {
	c.set(n, free-1, p)
	if free > 1 {
		c[0] = uint64(n-free+1) << 8
	}
}

// setHalf writes the low half of a word (0), or the high one (1).
func setHalf(w *uint64, half int, v uint32) {
	shift := half * 32
	*w = *w&^(0xffffffff<<shift) | uint64(v)<<shift
}

func half(w uint64, half int) uint32 { return uint32(w >> (half * 32)) }

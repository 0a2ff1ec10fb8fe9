package scan

import (
	"unsafe"

	"refrain/hashcodes"
)

// full is the number of rows at which an open band is sealed at once. Places in full + minRows rows fit 16 bits.
const full = 8192

// merging says which open bands become one when they are sealed: adjacent sizes, at most spread of them, until there
// are minRows rows.
type merging struct{ spread, minRows int }

// mergingFor is where a pass saved is worth more than the hits of it that are dropped again. Over more than the spread
// the radius would grow by more than two bits, and the rows inside it several times. Where the radius of a usual size
// is wide for the signature, many rows are inside it anyway, and only few rows are worth a pass.
func mergingFor(b *hashcodes.Bounds, words int) merging {
	const usual, large = 16, 64
	m := merging{spread: hashcodes.MaxSize, minRows: 1024}
	if r := radiusAt(b, large); r > 0 {
		m.spread = max(1, 2*2*large/r)
	}
	if 6*radiusAt(b, usual) > 32*words {
		m.minRows = 64
	}
	return m
}

// radiusAt is the radius between two sets of a size.
func radiusAt(b *hashcodes.Bounds, size int) int {
	s := b.For(size)
	return int(s.Radius[size-s.Min])
}

// block holds the signatures of a block.
type block struct {
	words  int
	rows   uint32
	open   []band // by number of tokens; empty once all are sealed
	next   int    // sizes below are sealed for good
	sealed []*band
	sizes  []sizes // of the sealed bands, close together since every search reads them all
	bytes  int64   // of the bands
}

// sizes are the numbers of tokens of a band's rows.
type sizes struct{ low, high uint16 }

// headers is what the planes of a band hold besides their words, in bytes.
func (b *block) headers() int64 { return 24 * int64(b.words) }

// held is the block's memory in bytes.
func (b *block) held() int64 {
	return b.bytes + int64(unsafe.Sizeof(band{}))*int64(cap(b.open)) + 8*int64(cap(b.sealed)) + 4*int64(cap(b.sizes))
}

func (b *block) add(size int, sig hashcodes.Signature) {
	for len(b.open) <= size {
		n := len(b.open)
		b.open = append(b.open, band{low: n, high: n, planes: make([][]uint32, b.words)})
		b.bytes += b.headers()
	}
	to := &b.open[size]
	before := to.bytes()
	to.add(b.rows, sig)
	b.bytes += to.bytes() - before
	b.rows++
	if len(to.rows) == full {
		b.addSealed(seal(b.open[size : size+1]))
		to.clear()
	}
}

func (b *block) addSealed(s *band) {
	b.sealed = append(b.sealed, s)
	b.sizes = append(b.sizes, sizes{uint16(s.low), uint16(s.high)})
	b.bytes += s.bytes() + int64(unsafe.Sizeof(band{})) + b.headers()
}

// sealAll seals every open band.
func (b *block) sealAll(m merging) {
	for b.sealSome(m) {
	}
}

// sealSome seals the next open bands, as one. It reports false when none was left.
func (b *block) sealSome(m merging) bool {
	for b.next < len(b.open) && len(b.open[b.next].rows) == 0 {
		b.next++
	}
	if b.next >= len(b.open) {
		b.dropOpen()
		return false
	}
	from, rows := b.next, 0
	for b.next < len(b.open) && b.next-from < m.spread && rows < m.minRows {
		rows += len(b.open[b.next].rows)
		b.next++
	}
	b.addSealed(seal(b.open[from:b.next]))
	for i := range b.open[from:b.next] {
		b.release(&b.open[from+i])
	}
	return true
}

func (b *block) release(open *band) {
	b.bytes -= open.bytes()
	open.planes, open.rows = nil, nil
}

func (b *block) dropOpen() {
	for i := range b.open {
		b.release(&b.open[i])
	}
	b.bytes -= int64(len(b.open)) * b.headers()
	b.open = nil
}

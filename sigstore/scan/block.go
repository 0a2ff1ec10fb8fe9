package scan

import (
	"unsafe"

	"refrain/hashcodes"
)

const (
	full   = 8192 // rows of an open band that is sealed at once
	enough = 1024 // rows of a sealed band that takes in no further sizes; the places of full + enough fit 16 bits
)

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
		b.keep(seal(b.open[size : size+1]))
		to.clear()
	}
}

func (b *block) keep(s *band) {
	b.sealed = append(b.sealed, s)
	b.sizes = append(b.sizes, sizes{uint16(s.low), uint16(s.high)})
	b.bytes += s.bytes() + int64(unsafe.Sizeof(band{})) + b.headers()
}

// sealAll seals every open band.
func (b *block) sealAll(spread int) {
	for b.sealSome(spread) {
	}
}

// sealSome seals the next open bands, as one: sizes that lie within spread of each other, until they have rows enough.
// It reports false when none was left.
func (b *block) sealSome(spread int) bool {
	for b.next < len(b.open) && len(b.open[b.next].rows) == 0 {
		b.next++
	}
	if b.next >= len(b.open) {
		b.dropOpen()
		return false
	}
	from, rows := b.next, 0
	for b.next < len(b.open) && b.next-from < spread && rows < enough {
		rows += len(b.open[b.next].rows)
		b.next++
	}
	b.keep(seal(b.open[from:b.next]))
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

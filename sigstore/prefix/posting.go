package prefix

import "refrain/hashcodes"

// posting says that a row has a token of its prefix. 12 bytes in a chunk.
type posting struct {
	meta meta
	at   rowPosition
}

// meta is what is known of a posting's row: 8 bits of size at the low end, 56 of signature. 0 is no row's.
type meta uint64

// rowPosition is where a posting belongs: the tokens that its key passes over in 4 bits, above them the row, from the
// generation's first on.
type rowPosition uint32

const (
	lastSize      = 255 // stands for 256 as well
	lastPassed    = 15  // stands for all beyond it
	lastRow       = 1<<28 - 1
	signatureBits = 56
)

func newMeta(size int, sig hashcodes.Signature) meta {
	return meta(sizeCode(size)) | meta(fold(sig))<<(64-signatureBits)
}

func sizeCode(n int) uint8 { return uint8(min(n, lastSize)) }

// fold makes 56 bits of a signature by exclusive or: a bit in which two signatures differ changes one bit, so that
// their distance is at most what it was, and nearly always just that when they are near. That beats leaving bits
// out: at θ 0.6 the 52 first bits of 64 let through twice the rows that a fold of as many does.
func fold(sig hashcodes.Signature) uint64 {
	var s uint64
	for i, word := range sig {
		s ^= uint64(word) << (i % 2 * 32)
	}
	return s&(1<<signatureBits-1) ^ s>>signatureBits
}

// alone are, by words of a signature, the bits that fold leaves to themselves, so that a posting still says on which side
// they differ. Of more than two words there are none.
var alone = [3]hashcodes.Signature{
	1: {1<<32 - 1},
	2: {1<<32 - 1<<(64-signatureBits), 1<<(signatureBits-32) - 1},
}

// only overwrites dst with those bits of the row's signature that the mask has.
func (m meta) only(dst, mask hashcodes.Signature) {
	sig := uint64(m >> (64 - signatureBits))
	for w := range dst {
		dst[w] = uint32(sig>>(32*w)) & mask[w]
	}
}

func (m meta) size() uint8 { return uint8(m) }

func newRowPosition(row uint32, passed int) rowPosition {
	return rowPosition(row)<<4 | rowPosition(min(passed, lastPassed))
}

func (p rowPosition) row() uint32 { return uint32(p >> 4) }
func (p rowPosition) passed() int { return int(p & lastPassed) }

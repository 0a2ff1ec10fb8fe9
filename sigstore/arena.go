package sigstore

// arena holds what a block knows of its groups as bytes that are written once, never changed, and go together:
// nothing for the collector to walk, and nothing to free one by one. What it returned stays readable for as long as
// somebody holds it.
type arena struct {
	base  uint64 // position of its first byte among all that the window ever held
	pages [][]byte
	held  int64 // bytes of the pages
}

const (
	pageBits = 16
	minPage  = 1 << 11 // a window with few texts holds many small blocks
	maxPage  = 1 << pageBits
)

// put copies b to where it stays, in one piece, and returns its position.
func (a *arena) put(b []byte) uint64 {
	n := len(a.pages) - 1
	if n < 0 || cap(a.pages[n])-len(a.pages[n]) < len(b) {
		a.grow(len(b))
		n++
	}
	off := len(a.pages[n])
	a.pages[n] = append(a.pages[n], b...)
	return a.base + uint64(n)<<pageBits + uint64(off)
}

// grow adds a page, twice as large as the one before up to maxPage; what is larger gets one of its own.
func (a *arena) grow(minBytes int) {
	size := minPage
	if n := len(a.pages); n > 0 {
		size = min(maxPage, 2*cap(a.pages[n-1]))
	}
	a.pages = append(a.pages, make([]byte, 0, max(size, minBytes)))
	a.held += int64(max(size, minBytes))
}

// at is what lies from a position on.
func (a *arena) at(pos uint64) []byte {
	rel := pos - a.base
	return a.pages[rel>>pageBits][rel&(maxPage-1):]
}

// end is a position behind all of the arena.
func (a *arena) end() uint64 { return a.base + uint64(len(a.pages))<<pageBits }

// next is the position at which, or behind which, the next bytes will stand, and before which all others do.
func (a *arena) next() uint64 {
	if len(a.pages) == 0 {
		return a.base
	}
	last := len(a.pages) - 1
	return a.base + uint64(last)<<pageBits + uint64(min(len(a.pages[last]), maxPage))
}

func (a *arena) isFull() bool { return len(a.pages) >= maxArena }

// maxArena is the number of pages at which a block is closed, so that places in it fit 31 bits.
const maxArena = 1 << 14

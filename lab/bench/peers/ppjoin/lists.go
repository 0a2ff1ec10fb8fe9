package ppjoin

import "math/bits"

// posting says that a record has a token of its prefix at a position. 8 bytes.
type posting struct {
	row            uint32
	size, position uint16
}

// lists are the postings by token. Each list is one piece of one array; a full one moves to a piece twice as long, and
// the piece that it leaves goes to the next list of that length.
type lists struct {
	given, fresh []list // tokens of the order given up front, and those that came later
	postings     []posting
	free         [33]uint32 // [k]: 1 + the start of a free piece of 1<<k postings; its first row is the next one
}

type list struct{ start, used, capacity uint32 }

func newLists(given int) lists { return lists{given: make([]list, given)} }

// of returns the postings of a token.
func (l *lists) of(number uint32) []posting {
	at := l.at(number)
	if at == nil {
		return nil
	}
	return l.postings[at.start : at.start+at.used]
}

// at finds the list of a number; nil for a fresh token without postings.
func (l *lists) at(number uint32) *list {
	if number >= firstGiven {
		return &l.given[number-firstGiven]
	}
	if i := firstGiven - 1 - number; int(i) < len(l.fresh) {
		return &l.fresh[i]
	}
	return nil
}

func (l *lists) add(number uint32, p posting) {
	for l.at(number) == nil {
		l.fresh = append(l.fresh, list{})
	}
	at := l.at(number)
	if at.used == at.capacity {
		l.grow(at)
	}
	l.postings[at.start+at.used] = p
	at.used++
}

func (l *lists) grow(at *list) {
	capacity := max(1, 2*at.capacity)
	start := l.piece(capacity)
	copy(l.postings[start:], l.postings[at.start:at.start+at.used])
	l.giveBack(at)
	at.start, at.capacity = start, capacity
}

// piece finds a free piece, or makes one at the end.
func (l *lists) piece(capacity uint32) uint32 {
	k := bits.TrailingZeros32(capacity)
	if l.free[k] != 0 {
		start := l.free[k] - 1
		l.free[k] = l.postings[start].row
		return start
	}
	start := uint32(len(l.postings))
	l.postings = roomFor(l.postings, int(capacity))[:start+capacity]
	return start
}

func (l *lists) giveBack(at *list) {
	if at.capacity == 0 {
		return
	}
	k := bits.TrailingZeros32(at.capacity)
	l.postings[at.start].row = l.free[k]
	l.free[k] = at.start + 1
}

func (l *lists) bytes() int64 {
	return 12*int64(cap(l.given)+cap(l.fresh)) + 8*int64(cap(l.postings))
}

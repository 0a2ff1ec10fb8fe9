package join

import (
	"sort"
)

// lister compares the rows of lists with each other; it belongs to one goroutine.
type lister struct {
	*lists
	emit    func(x, y uint32, common int) bool
	stopped bool
	targets [2]targets // the rows that larger ones can find, of each collection
	hits    []uint32
	marks   marks
	marked  uint32 // 1 + the row whose tokens are
	stats   Stats
}

func newLister(l *lists) *lister {
	f := &lister{lists: l, marks: newMarks(l.sets)}
	for side := range f.targets {
		f.targets[side].init(l.signatures.words)
	}
	return f
}

func (f *lister) counted() *Stats { return &f.stats }

func (f *lister) find(from, to uint32, emit func(x, y uint32, common int) bool) {
	f.emit, f.stopped = emit, false
	if end := uint32(len(f.entries)); from >= end {
		for r := from - end; r < to-end && !f.stopped; r++ {
			f.stopped = f.prefixes[len(f.row(r))] > 0 && !f.equal(r, emit)
		}
		return
	}
	i := sort.Search(len(f.starts), func(i int) bool { return f.starts[i] > from }) - 1
	for ; i+1 < len(f.starts) && f.starts[i] < to && !f.stopped; i++ {
		start, end := f.starts[i], min(f.starts[i+1], to)
		if end-start < 2 {
			continue
		}
		f.list(f.entries[start:end], int(max(from, start)-start))
	}
}

// few is the length up to which rows of a list are compared one by one.
const few = 6

// list compares the rows of a list from a place on with those before them.
func (f *lister) list(entries []listed, from int) {
	if len(entries) <= few {
		f.eachTwo(entries, from)
		return
	}
	f.lay(entries)
	for _, x := range entries[from:] {
		for side := range f.sides {
			if f.has(x.row, side) && !f.stopped {
				f.scan(x, side)
			}
		}
	}
}

// has reports whether a row is a set of a collection.
func (f *lister) has(row uint32, side int) bool { return f.sides == 1 || len(f.of(row, side)) > 0 }

// isPosted reports whether the list's token is in the index prefix of a row: whether larger rows find it by that token.
func (f *lister) isPosted(y listed) bool { return uint32(y.position) < f.posted[y.size] }

func (f *lister) eachTwo(entries []listed, from int) {
	for k := max(from, 1); k < len(entries); k++ {
		x := entries[k]
		b := &f.bounds.sizes[x.size]
		for _, y := range entries[:k] {
			if uint32(y.size) < b.min || !f.isPosted(y) {
				continue
			}
			for side := range f.sides {
				if f.has(x.row, side) && f.has(y.row, f.other(side)) {
					f.two(x, y, b, side)
				}
			}
		}
	}
}

// two compares the signatures of two rows, and what comes behind.
func (f *lister) two(x, y listed, b *sizeBounds, side int) {
	f.stats.Entries++
	radius := f.signatures.ones * int(b.apart)
	if distance(f.signatures.row(x.row), f.signatures.row(y.row), radius) <= radius {
		f.stats.Signature++
		f.try(x, y, b, side)
	}
}

// lay lays the signatures of all rows that can be found side by side.
func (f *lister) lay(entries []listed) {
	for side := range f.sides {
		t := &f.targets[side]
		t.clear(len(entries), f.most)
		rows, signatures := t.rows, t.signatures // a field is dear to append to while garbage is collected
		for _, y := range entries {
			if f.isPosted(y) && f.has(y.row, side) {
				rows, signatures = append(rows, y), append(signatures, f.signatures.row(y.row)...)
			}
		}
		t.rows, t.signatures = rows, signatures
	}
}

// scan compares a row of the list with all before it whose signatures are near.
func (f *lister) scan(x listed, side int) {
	b := &f.bounds.sizes[x.size]
	t := &f.targets[f.other(side)]
	for t.low < len(t.rows) && uint32(t.rows[t.low].size) < b.min {
		t.low++
	}
	for t.high = max(t.high, t.low); t.high < len(t.rows) && t.rows[t.high].row < x.row; {
		t.high++
	}
	f.stats.Entries += int64(t.high - t.low)
	f.hits = t.near(f.hits[:0], f.signatures.row(x.row), f.signatures.ones*int(b.apart))
	f.stats.Signature += int64(len(f.hits))
	for _, h := range f.hits {
		f.try(x, t.rows[h], b, side)
	}
}

// try compares rows x and y, x the larger, if so many tokens can be common behind the list's, and that one.
func (f *lister) try(x, y listed, b *sizeBounds, side int) {
	overlap := int(b.overlap[uint32(y.size)-b.min])
	if min(int(x.size-x.position), int(y.size-y.position)) >= overlap {
		f.compare(x, y, overlap, side)
	}
}

// compare emits the sets of two rows, if they are similar enough and this is the first token that both have.
func (f *lister) compare(x, y listed, overlap, side int) {
	if f.stats.Positional++; f.stopped || !f.checks.within(x.row, y.row, int(x.size)-overlap, int(y.size)-overlap) {
		return
	}
	f.stats.Missing++
	if f.marked != x.row+1 {
		f.marked = x.row + 1
		f.marks.set(f.row(x.row))
	}
	tokens := f.row(y.row)
	if f.marks.any(tokens[:y.position]) {
		return // found there
	}
	f.stats.Candidates++
	if more, ok := f.marks.atLeast(tokens[y.position+1:], overlap-1); ok {
		f.stopped = !cross(f.of(x.row, side), f.of(y.row, f.other(side)), more+1, f.emit)
	}
}

package join

import (
	"sort"
)

// lister compares the rows of lists with each other; it belongs to one goroutine.
type lister struct {
	*lists
	emit    func(x, y uint32, common int) bool
	stopped bool
	rows    []listed   // of the list at hand
	targets [2]targets // the rows that larger ones can find, of each collection
	hits    []uint32
	marks   marks
	marked  uint32   // 1 + the row whose tokens are
	stats   Stats
}

// listed is an entry with what its row's size is.
type listed struct{ row, position, size uint32 }

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
func (f *lister) list(entries []entry, from int) {
	f.rows = f.rows[:0]
	for _, e := range entries {
		f.rows = append(f.rows, listed{e.row, e.position, uint32(len(f.row(e.row)))})
	}
	if len(entries) <= few {
		f.eachTwo(from)
		return
	}
	f.lay()
	for k := from; k < len(f.rows) && !f.stopped; k++ {
		for side := range f.sides {
			if f.has(f.rows[k].row, side) {
				f.scan(k, side)
			}
		}
	}
}

// has reports whether a row is a set of a collection.
func (f *lister) has(row uint32, side int) bool { return f.sides == 1 || len(f.of(row, side)) > 0 }

// isPosted reports whether the list's token is in the index prefix of a row: whether larger rows find it by that token.
func (f *lister) isPosted(y listed) bool { return y.position < f.posted[y.size] }

func (f *lister) eachTwo(from int) {
	for k := max(from, 1); k < len(f.rows); k++ {
		x := f.rows[k]
		b := &f.bounds.sizes[x.size]
		signature, radius := f.signatures.row(x.row), f.signatures.ones*int(b.apart)
		for _, y := range f.rows[:k] {
			if y.size < b.min || !f.isPosted(y) {
				continue
			}
			for side := range f.sides {
				if f.sides == 2 && (!f.has(x.row, side) || !f.has(y.row, 1-side)) {
					continue
				}
				f.stats.Entries++
				if distance(signature, f.signatures.row(y.row), radius) <= radius {
					f.compare(x, y, side)
				}
			}
		}
	}
}

// lay lays the signatures of all rows that can be found side by side.
func (f *lister) lay() {
	for side := range f.sides {
		f.targets[side].clear()
	}
	for k, y := range f.rows {
		if !f.isPosted(y) {
			continue
		}
		for side := range f.sides {
			if f.has(y.row, side) {
				f.targets[side].add(uint32(k), f.signatures.row(y.row))
			}
		}
	}
}

// scan compares row k of the list with all before it whose signatures are near.
func (f *lister) scan(k, side int) {
	x := f.rows[k]
	b := &f.bounds.sizes[x.size]
	t := &f.targets[f.other(side)]
	for t.low < len(t.at) && f.rows[t.at[t.low]].size < b.min {
		t.low++
	}
	for t.high = max(t.high, t.low); t.high < len(t.at) && int(t.at[t.high]) < k; t.high++ {
	}
	f.stats.Entries += int64(t.high - t.low)
	f.hits = t.near(f.hits[:0], f.signatures.row(x.row), f.signatures.ones*int(b.apart))
	for _, h := range f.hits {
		f.compare(x, f.rows[t.at[h]], side)
	}
}

// compare emits the sets of rows x and y, x the larger, if they are similar enough and this is the first token that both have.
func (f *lister) compare(x, y listed, side int) {
	if f.stopped {
		return
	}
	f.stats.Signature++
	n, m, i, j := int(x.size), int(y.size), int(x.position), int(y.position)
	overlap := f.bounds.minOverlap(n, m)
	if min(n-i, m-j) < overlap {
		return
	}
	f.stats.Positional++
	if !f.signatures.within(x.row, y.row, n-overlap, m-overlap) {
		return
	}
	f.stats.Missing++
	if f.marked != x.row+1 {
		f.marked = x.row + 1
		f.marks.set(f.row(x.row))
	}
	tokens := f.row(y.row)
	if f.marks.any(tokens[:j]) {
		return // found there
	}
	f.stats.Candidates++
	if more, ok := f.marks.atLeast(tokens[j+1:], overlap-1); ok {
		f.stopped = f.stopped || !cross(f.of(x.row, side), f.of(y.row, f.other(side)), more+1, f.emit)
	}
}

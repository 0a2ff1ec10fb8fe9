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

// list compares the rows of a list from a place on with those before them.
func (f *lister) list(entries []listed, from int) {
	if f.apart(entries) {
		return
	}
	for side := range f.sides {
		f.targets[side].clear(len(entries), f.most)
	}
	if f.sides == 1 && f.signatures.words == 1 {
		f.oneWord(entries, from)
		return
	}
	for k, x := range entries {
		for side := range f.sides {
			if k >= from && f.has(x.row, side) && !f.stopped {
				f.scan(x, side)
			}
		}
		for side := range f.sides {
			if f.isPosted(x) && f.has(x.row, side) {
				f.targets[side].add(x, f.signatures)
			}
		}
	}
}

// apart reports whether no two rows of a list fit in size: as most short ones are, where no neighbours do.
func (f *lister) apart(entries []listed) bool {
	for k := 1; k < len(entries); k++ {
		if uint32(entries[k-1].size) >= f.bounds.sizes[entries[k].size].min {
			return false
		}
	}
	return true
}

// oneWord is list for one collection with signatures of one word: mostly no row before is large enough.
func (f *lister) oneWord(entries []listed, from int) {
	t := &f.targets[0]
	rows, signatures, n, low := t.rows[:len(entries)], t.signatures[:len(entries)], 0, 0
	for k, x := range entries {
		b := &f.bounds.sizes[x.size]
		for low < n && uint32(rows[low].size) < b.min {
			low++
		}
		if low < n && k >= from {
			t.rows, t.signatures, t.low = rows[:n], signatures[:n], low
			f.near(x, b, 0)
		}
		rows[n], signatures[n] = x, x.signature
		n += oneIf(f.isPosted(x))
	}
}

// has reports whether a row is a set of a collection.
func (f *lister) has(row uint32, side int) bool { return f.sides == 1 || len(f.of(row, side)) > 0 }

// isPosted reports whether the list's token is in the index prefix of a row: whether larger rows find it by that token.
func (f *lister) isPosted(y listed) bool { return uint32(y.position) < f.posted[y.size] }

// scan compares a row of the list with all before it whose signatures are near.
func (f *lister) scan(x listed, side int) {
	b := &f.bounds.sizes[x.size]
	t := &f.targets[f.other(side)]
	for t.low < len(t.rows) && uint32(t.rows[t.low].size) < b.min {
		t.low++
	}
	f.near(x, b, side)
}

// near compares a row with those of the window.
func (f *lister) near(x listed, b *sizeBounds, side int) {
	t := &f.targets[f.other(side)]
	f.stats.Entries += int64(len(t.rows) - t.low)
	if t.words == 1 {
		f.hits = t.nearWord(f.hits[:0], x.signature, int(b.apart)*f.signatures.ones)
	} else {
		f.hits = t.near(f.hits[:0], f.signatures.row(x.row), int(b.apart)*f.signatures.ones)
	}
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

package prefix

import "slices"

// generation is a run of rows that are posted under one order of the tokens. It goes as a whole, when the last of
// its rows has gone, or is posted again in the next one.
type generation struct {
	base  uint64 // postings count rows from it on
	first uint64 // row that came when it had begun; those before it are of the generations before, or posted again
	from  uint64 // of the rows before this one, all are gone or posted again in the next generation
	// orderedUpTo is the row before which all rows were counted for the order. While an index is filled from a window,
	// some of them are still to come.
	orderedUpTo uint64
	order       order
	lists       lists
	metas       []meta // of its rows, while it has all of a window and they are few enough to be posted again at once

	searches int // of the last few
	wasted   int // postings that they read of tokens that the order takes for rare
}

const (
	growthOfFew  = 63   // a window that grows gets a new order at 1 + so many times its size, as long as rows are few,
	growth       = 1023 // and at 1 + so many times from then on,
	turnover     = 3    // one that rolls when so many times its older rows have come,
	waste        = 1024 // and either when a search reads so many postings in vain, twice what a generation costs,
	searches     = 4096 // on the average of at most so many searches
	repostRatio  = 16   // rows are posted again at once only when one in so many is new
	repostedEach = 8    // rows that are posted again with each that comes, while they are too many to be so at once
)

var (
	minRows     uint64 = 1024      // for which a generation is begun
	maxReposted uint64 = 64 * 1024 // rows that are posted again at once: some 40 ms
)

// isStale reports whether the next row wants a new generation: there is none, it is full, or its order no longer says
// which tokens are rare. An order of long ago is hardly worse: of three million rows searches read 3 % more with that
// of the first 65,000 than with that of the first million. What makes one useless is a campaign, whose tokens were
// rare until it began.
func (x *index) isStale() bool {
	if len(x.generations) == 0 {
		return true
	}
	g := x.newest()
	if x.isFull(g) {
		return true
	}
	newer, older := x.next-min(g.orderedUpTo, x.next), max(g.orderedUpTo, x.oldest())-x.oldest()
	switch {
	case newer < minRows, len(x.generations) > 1, x.areFew() && newer < older/repostRatio:
		return false
	case g.wasted > waste*searches:
		return true
	case x.rolls:
		return newer >= turnover*older
	case x.areFew():
		return newer >= growthOfFew*older
	default:
		return newer >= growth*older
	}
}

// isFull reports whether there are no numbers left for rows, or hardly any for lists.
func (x *index) isFull(g *generation) bool { return x.next-g.base > lastRow || g.lists.full() }

func (x *index) newest() *generation { return x.generations[len(x.generations)-1] }

// searched notes what a search has read in vain.
func (g *generation) searched(wasted int) {
	if g.searches++; g.searches > searches {
		g.searches, g.wasted = 1, 0
	}
	g.wasted += wasted
}

// begin begins a generation. The rows that are there are posted again under its order: at once if they are few, and
// with the rows to come otherwise.
func (x *index) begin() {
	frequencies := x.source.Frequencies()
	g := &generation{base: x.base(), first: x.next, orderedUpTo: x.next, order: newOrder(frequencies),
		lists: lists{buckets: &x.filters.buckets}}
	g.lists.entryOf = func(p posting) *entry { return x.entryOf(g, p) }
	if len(x.generations) == 0 {
		g.orderedUpTo += orderedRows(frequencies)
	}
	if x.areFew() {
		g.first = x.oldest()
		x.postAgain(g)
		x.retain(nil)
	}
	x.generations = append(x.generations, g)
	x.rolls = false
}

// base is the first row that a generation that begins can have: the oldest, unless all of them would be too many.
func (x *index) base() uint64 {
	if len(x.generations) > 0 && x.isFull(x.newest()) || x.next-x.oldest() > lastRow/2 {
		return x.next
	}
	return x.oldest()
}

// orderedRows is how many rows the frequencies count, or fewer, without the next one, which is counted already. An
// index that is filled from a window begins when it has had none of them yet, but its order is as good as it will be
// when it has all: rows need not be posted again on the way.
func orderedRows(frequencies []uint32) uint64 {
	if len(frequencies) == 0 {
		return 0
	}
	highest := slices.Max(frequencies)
	return uint64(highest - min(highest, 1))
}

// areFew reports whether all rows can be posted again at once.
func (x *index) areFew() bool {
	for _, g := range x.generations {
		if g.metas == nil {
			return false
		}
	}
	return x.next-x.oldest() <= maxReposted
}

func (x *index) postAgain(to *generation) {
	for i, from := range x.generations {
		for row := max(from.first, x.oldest()); row < x.end(i); row++ {
			m, tokens := from.metas[row-from.first], x.source.Tokens(x.at(row))
			if tokens != nil {
				x.post(to, row, tokens, m)
			}
			to.remember(row, m)
		}
	}
}

// postSomeAgain posts the next few rows of the oldest generation again in the newest, until that is the only one: each
// generation that a search goes through costs it as much again.
func (x *index) postSomeAgain() {
	for n := 0; n < repostedEach && len(x.generations) > 1; n++ {
		g := x.generations[0]
		row := max(g.from, x.oldest())
		switch {
		case row < x.newest().base:
			return
		case row >= x.end(0):
			x.retain(x.generations[1:])
			return
		}
		g.from = row + 1
		if tokens := x.source.Tokens(x.at(row)); tokens != nil {
			x.post(x.newest(), row, tokens, newMeta(len(tokens), x.source.Signature(tokens)))
		}
	}
}

// remember keeps the meta of the generation's next row as long as it may be posted again at once.
func (g *generation) remember(row uint64, m meta) {
	if g.first != g.base || row-g.base >= maxReposted {
		g.metas = nil
		return
	}
	g.metas = append(g.metas, m)
}

func (g *generation) bytes() int64 {
	return g.lists.bytes() + g.order.bytes() + 8*int64(cap(g.metas))
}

// sorted are the rarest tokens of a set, in a generation's order.
type sorted struct {
	ranks  []rank
	tokens []uint32
}

// sort sorts the n rarest, and those after them that longer keys have.
func (s *sorted) sort(g *generation, set []uint32, n int) {
	if g.lists.longer {
		n += maxLength - 1
	}
	s.ranks, s.tokens = g.order.rarest(s.ranks, set, n), s.tokens[:0]
	for _, r := range s.ranks {
		s.tokens = append(s.tokens, set[r.position()])
	}
}

func (s *sorted) bytes() int64 { return 2*int64(cap(s.ranks)) + 4*int64(cap(s.tokens)) }

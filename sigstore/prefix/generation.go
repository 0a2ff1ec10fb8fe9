package prefix

import "slices"

// generation is a run of rows that are posted under one order of the tokens. It goes as a whole, when the last of
// its rows has gone.
type generation struct {
	first uint64 // row
	// orderedUpTo is the row before which all rows were counted for the order. While an index is filled from a window, some
	// of them are still to come.
	orderedUpTo uint64
	order       order
	lists       lists
	metas       []meta // of its rows, while they are few enough to be posted again

	searches int // of the last few
	wasted   int // postings that they read of tokens that the order takes for rare
}

const (
	minRows             = 1024      // for which a generation is begun
	maxReposted         = 64 * 1024 // rows that are posted again at once: some 40 ms
	growth              = 63        // a window that grows gets a new order at 1 + growth times its size,
	turnover            = 1         // one that rolls when so many times its older rows have come,
	waste               = 1024      // and either when a search reads so many postings in vain, twice what a generation costs,
	searches            = 4096      // on the average of at most so many searches,
	maxEagerGenerations = 4         // if there are not yet so many, or else if it has doubled
	repostRatio         = 16        // rows are posted again only when one in so many is new
)

// isStale reports whether the next row wants a new generation: there is none, it is full, or its order no longer says
// which tokens are rare. An order of long ago is hardly worse: at 64 times the size it made searches read 8 % more.
// What makes one useless is a campaign, whose tokens were rare until it began.
func (x *index) isStale() bool {
	if len(x.generations) == 0 {
		return true
	}
	g := x.generations[len(x.generations)-1]
	if x.next-g.first > lastRow || g.lists.full() {
		return true
	}
	newer, older := x.next-min(g.orderedUpTo, x.next), max(g.orderedUpTo, x.oldest())-x.oldest()
	switch {
	case newer < minRows, x.areFew() && newer < older/repostRatio:
		return false
	case g.wasted > waste*searches:
		return len(x.generations) < maxEagerGenerations || newer >= older
	case x.rolls:
		return newer >= turnover*older
	default:
		return newer >= growth*older
	}
}

// searched notes what a search has read in vain.
func (g *generation) searched(wasted int) {
	if g.searches++; g.searches > searches {
		g.searches, g.wasted = 1, 0
	}
	g.wasted += wasted
}

// begin begins a generation. Rows that are few are posted again, under its order.
func (x *index) begin() {
	frequencies := x.source.Frequencies()
	g := &generation{first: x.next, orderedUpTo: x.next, order: newOrder(frequencies),
		lists: lists{buckets: &x.filters.buckets}}
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

// orderedRows is how many rows the frequencies count, or fewer, without the next one, which is counted already. An index
// that is filled from a window begins when it has had none of them yet, but its order is as good as it will be when it
// has all: rows need not be posted again on the way.
func orderedRows(frequencies []uint32) uint64 {
	if len(frequencies) == 0 {
		return 0
	}
	highest := slices.Max(frequencies)
	return uint64(highest - min(highest, 1))
}

// areFew reports whether all rows can be posted again.
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

// remember keeps the meta of the generation's next row as long as it may be posted again.
func (g *generation) remember(row uint64, m meta) {
	if row-g.first >= maxReposted {
		g.metas = nil
		return
	}
	g.metas = append(g.metas, m)
}

func (g *generation) bytes() int64 {
	return g.lists.bytes() + g.order.bytes() + 8*int64(cap(g.metas))
}

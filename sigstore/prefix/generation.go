package prefix

// generation is a run of rows that are posted under one order of the tokens. It goes as a whole, when the last of
// its rows has gone.
type generation struct {
	first uint64 // row
	began uint64 // the row that was next when the order was made: those before it were posted again
	order order
	lists lists
	metas []meta // of its rows, while they are few enough to be posted again
}

const (
	minRows  = 1024      // for which a generation is begun
	maxAgain = 32 * 1024 // rows that are posted again at once: some 20 ms
	growth   = 3         // a window that grows gets a new order at 1 + growth times its size
	turnover = 1         // one that rolls gets it when so many times its older rows have come
)

// isStale reports whether the next row wants a new generation: there is none, it is full, or so many rows have come
// since it began that its order no longer says which tokens are rare.
func (x *index) isStale() bool {
	if len(x.generations) == 0 {
		return true
	}
	g := x.generations[len(x.generations)-1]
	if x.next-g.first > lastRow || g.lists.full() {
		return true
	}
	newer, older := x.next-g.began, max(g.began, x.oldest())-x.oldest()
	if x.rolls {
		return newer >= max(minRows, turnover*older)
	}
	return newer >= max(minRows, growth*older)
}

// begin begins a generation. Rows that are few are posted again, under its order.
func (x *index) begin() {
	g := &generation{
		first: x.next, began: x.next,
		order: newOrder(x.source.Frequencies()), lists: lists{buckets: &x.filters.buckets},
	}
	if x.areFew() {
		g.first = x.oldest()
		x.postAgain(g)
		x.keep(nil)
	}
	x.generations = append(x.generations, g)
	x.rolls = false
}

// areFew reports whether all rows can be posted again.
func (x *index) areFew() bool {
	for _, g := range x.generations {
		if g.metas == nil {
			return false
		}
	}
	return x.next-x.oldest() <= maxAgain
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
	if row-g.first >= maxAgain {
		g.metas = nil
		return
	}
	g.metas = append(g.metas, m)
}

func (g *generation) bytes() int64 {
	return g.lists.bytes() + g.order.bytes() + 8*int64(cap(g.metas))
}

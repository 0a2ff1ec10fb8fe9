package join

// rowIndex is an index of rows alone, for who does not ask where a token stands in them.
type rowIndex struct {
	starts []uint32 // rank -> where its rows begin; one more than there are ranks
	rows   []uint32 // counted from the first row of the part; those of a token ascend
	asked  *asked   // lists that rows are looked up in
}

// newRowIndex posts rows from to to of one side under their index prefixes, but not under tokens that no other row has:
// nobody asks for them. Rows from the first one that is looked up get a bit for each token of their prefixes under which a row
// before them is large enough.
func newRowIndex(c *counting, side int) *rowIndex {
	x := &rowIndex{starts: make([]uint32, len(c.numbers)+1), asked: newAsked(c)}
	for row := c.from; row < c.to; row++ {
		for _, token := range c.keys(row, side) {
			x.starts[token] += uint32(oneIf(token >= c.single))
		}
	}
	lists, total := make([]list, len(c.numbers)), uint32(0)
	for token, n := range x.starts[:len(lists)] {
		x.starts[token], lists[token].next = total, total
		total += n
	}
	x.starts[len(lists)] = total
	x.rows = make([]uint32, total)
	for row := c.from; row < c.len(); row++ {
		if row >= c.lookedUp {
			x.asked.mark(row, c.front(row), lists)
		}
		if row >= c.from && row < c.to {
			x.post(row, c, side, lists)
		}
	}
	return x
}

// list is one that is being filled.
type list struct{ next, last uint32 } // last: 1 + the row that was posted last

func (x *rowIndex) post(row uint32, c *counting, side int, lists []list) {
	for _, token := range c.keys(row, side) {
		if token < c.single {
			continue
		}
		at := &lists[token]
		x.rows[at.next] = row - c.from
		at.next, at.last = at.next+1, row+1
	}
}

// keys are the tokens that a row is posted under.
func (c *counting) keys(row uint32, side int) []uint32 {
	if c.sides == 2 && len(c.of(row, side)) == 0 {
		return nil
	}
	tokens := c.row(row)
	return tokens[:c.posted[len(tokens)]]
}

// front is the tokens that a row is looked up by.
func (c *counting) front(row uint32) []uint32 {
	tokens := c.row(row)
	return tokens[:c.prefixes[len(tokens)]]
}

// asked are the lists that have a row of fitting size: a bit for each token of a prefix.
type asked struct {
	*counting
	starts []int // [n]: where the words of rows of n tokens begin
	bits   []uint64
}

func newAsked(c *counting) *asked {
	a := &asked{counting: c, starts: make([]int, len(c.first))}
	total := 0
	for n := 1; n < len(c.first)-1; n++ {
		a.starts[n] = total
		total += int(c.first[n+1]-c.first[n]) * words(c.prefixes[n])
	}
	a.bits = make([]uint64, total)
	return a
}

// words is how many words have so many bits.
func words(n uint32) int { return int(n+63) / 64 }

// of are the bits of a row, of n tokens.
func (a *asked) of(row uint32, n int) []uint64 {
	size := words(a.prefixes[n])
	from := a.starts[n] + int(row-a.first[n])*size
	return a.bits[from : from+size]
}

// mark sets the bits of a row. Without branches: whether a list has such a row nobody can guess.
func (a *asked) mark(row uint32, tokens []uint32, lists []list) {
	n := len(a.row(row))
	from, all := a.smallest[n], a.of(row, n)
	for i := range all {
		word := uint64(0)
		for k, token := range tokens[64*i : min(64*i+64, len(tokens))] {
			word |= uint64(oneIf(lists[token].last > from)) << (k & 63)
		}
		all[i] = word
	}
}

// cursors are an index, and where in its lists rows from one to another one stand: of windows that only move on, as those of
// rows by rising size do. So none is searched for.
type cursors struct {
	*rowIndex
	at []window // by token
}

// window is a piece of a list that ends somewhere.
type window struct{ from, to, end uint32 }

func newCursors(x *rowIndex) cursors {
	c := cursors{rowIndex: x, at: make([]window, len(x.starts)-1)}
	for token := range c.at {
		c.at[token] = window{x.starts[token], x.starts[token], x.starts[token+1]}
	}
	return c
}

// between are the rows of a token from one to another.
func (c *cursors) between(token, from, to uint32) []uint32 {
	at := &c.at[token]
	for at.from < at.end && c.rows[at.from] < from {
		at.from++
	}
	for at.to = max(at.to, at.from); at.to < at.end && c.rows[at.to] < to; {
		at.to++
	}
	return c.rows[at.from:at.to]
}

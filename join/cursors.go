package join

// rowIndex is an index of rows alone, for who does not ask where a token stands in them.
type rowIndex struct {
	starts []uint32 // rank -> where its rows begin; one more than there are ranks
	rows   []uint32 // counted from the first row of the part; those of a token ascend
}

// newRowIndex posts rows from to to of one side under their index prefixes.
func newRowIndex(s *sets, prefixes []uint32, side int, from, to uint32) *rowIndex {
	x := &rowIndex{starts: make([]uint32, len(s.numbers)+1)}
	for row := from; row < to; row++ {
		for _, token := range s.keys(row, side, prefixes) {
			x.starts[token]++
		}
	}
	total := uint32(0)
	for token, n := range x.starts {
		x.starts[token], total = total, total+n
	}
	x.rows = make([]uint32, total)
	for row := from; row < to; row++ {
		for _, token := range s.keys(row, side, prefixes) {
			x.rows[x.starts[token]] = row - from
			x.starts[token]++
		}
	}
	copy(x.starts[1:], x.starts) // each start has moved to the next one's place
	x.starts[0] = 0
	return x
}

// keys are the tokens that a row is posted under, without those that no other row has: nobody asks for them.
func (s *sets) keys(row uint32, side int, prefixes []uint32) []uint32 {
	if s.sides == 2 && len(s.of(row, side)) == 0 {
		return nil
	}
	tokens := s.row(row)
	return s.withoutSingle(tokens[:prefixes[len(tokens)]])
}

// withoutSingle leaves out the tokens that one set has alone. They stand in front.
func (s *sets) withoutSingle(tokens []uint32) []uint32 {
	for i, token := range tokens {
		if token >= s.single {
			return tokens[i:]
		}
	}
	return nil
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

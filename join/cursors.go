package join

import "slices"

// rowIndex is an index of rows alone, for who does not ask where a token stands in them. A row is counted from the first one of
// the part, which is 1, and those of a token ascend; before each list stands a 0.
//
// A window is the rows of a list, before the one that is looked up, that are large enough for it. Where windows end is known
// while rows are posted, as is whether there is one at all; where they begin tells a row that is too small, or the 0.
type rowIndex struct {
	rows   []uint32
	first  uint32     // row that is looked up
	ends   [][]uint32 // by so many rows: of their windows that are not empty
	starts []uint32   // row from the first -> where its ends begin
	posted int64      // rows of all lists
}

// endsOfBlock is of how many rows the ends of windows lie together.
const endsOfBlock = 256

// newRowIndex posts the rows of the part of one side under their index prefixes, but not under tokens that no other row has:
// nobody asks for them. The rows behind are looked up.
func newRowIndex(c *counting, side int) *rowIndex {
	x := &rowIndex{first: max(c.from, c.lookedUp)}
	lists := x.newLists(c, side)
	x.starts = make([]uint32, c.len()-x.first)
	var ends []uint32
	for row := c.from; row < c.len(); row++ {
		if row >= x.first {
			x.starts[row-x.first] = uint32(len(ends))
			ends = c.look(row, lists, ends)
			if row+1 == c.len() || (row-x.first)%endsOfBlock == endsOfBlock-1 {
				x.ends, ends = append(x.ends, slices.Clone(ends)), ends[:0]
			}
		}
		if row < c.to {
			x.post(row, c, side, lists)
		}
	}
	return x
}

// list is one that is being filled.
type list struct{ next, last uint32 } // last: 1 + the row that was posted last

// newLists makes room for the lists.
func (x *rowIndex) newLists(c *counting, side int) []list {
	lists, total := make([]list, len(c.numbers)), uint32(0)
	for row := c.from; row < c.to; row++ {
		for _, token := range c.keys(row, side) {
			lists[token].next += uint32(oneIf(token >= c.single))
		}
	}
	for token := range lists {
		n := lists[token].next
		total += uint32(oneIf(n > 0))
		lists[token].next = total
		total += n
		x.posted += int64(n)
	}
	x.rows = make([]uint32, total)
	return lists
}

// look appends the ends of a row's windows. Without branches: whether a list has a row that is large enough nobody can guess.
func (c *counting) look(row uint32, lists []list, ends []uint32) []uint32 {
	tokens, n, smallest := c.front(row), len(ends), c.smallest[len(c.row(row))]
	ends = slices.Grow(ends, len(tokens))[:n+len(tokens)]
	for _, token := range tokens {
		list := lists[token]
		ends[n] = list.next
		n += oneIf(list.last > smallest)
	}
	return ends[:n]
}

// windows are where the windows of a row end.
func (x *rowIndex) windows(row uint32) []uint32 {
	at := row - x.first
	ends, from := x.ends[at/endsOfBlock], x.starts[at]
	if at++; at%endsOfBlock == 0 || at == uint32(len(x.starts)) {
		return ends[from:]
	}
	return ends[from:x.starts[at]]
}

func (x *rowIndex) post(row uint32, c *counting, side int, lists []list) {
	for _, token := range c.keys(row, side) {
		if token < c.single {
			continue
		}
		at := &lists[token]
		x.rows[at.next] = row - c.from + 1
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

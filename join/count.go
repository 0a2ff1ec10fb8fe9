package join

import (
	"iter"

	"refrain/text"
)

// counting is Ours where sets are large: a join row by row, like that of [PPJ], but all that is done with an entry of the index is
// to count it. Then each row that was met is judged once, by how many tokens were counted and by where both prefixes end: all
// common tokens of both prefixes are counted, and only one of the two rows has further ones, behind its prefix. So most rows are
// turned away without a look at their tokens. What is left is compared from where the prefixes end. There are signatures only of a
// model: few rows are left for them, and to make them of all takes longer.
type counting struct {
	*sets
	measure    text.Measure
	prefixes   []uint32    // [n]: how many tokens of a row of n are looked up
	posted     []uint32    // [n]: and under how many it is posted
	signatures *signatures // nil: none
	from, to   uint32      // the rows of the part
	smallest   []uint32    // [n]: the first row that is large enough for one of n
	lookedUp   uint32      // rows from here on are looked up
	workers    int
	indexes    []*rowIndex
	heads      []head // by row of the part, from 1
}

// head is what a row is judged by.
type head struct{ size, end uint32 } // end: the last token that it is posted under

// byRows are the parts of a join: rows as far as memory goes, that those from a row on may be similar to.
func byRows(s *sets, cfg Config, e *estimate, lookedUp uint32) iter.Seq[part] {
	return func(yield func(part) bool) {
		if lookedUp == s.len() {
			return
		}
		whole := &counting{sets: s, measure: cfg.Measure, lookedUp: lookedUp, workers: cfg.Workers}
		if cfg.Model != nil {
			whole.signatures = newSignatures(s, 0, cfg.Model)
		}
		whole.prefixes, whole.posted = prefixesOf(s, cfg.Measure.Prefix), prefixesOf(s, cfg.Measure.IndexPrefix)
		whole.smallest = prefixesOf(s, func(n int) int {
			least, _ := cfg.Measure.Sizes(n)
			return int(s.first[min(max(least, 1), n)])
		})
		for from := whole.smallest[len(s.row(lookedUp))]; from < s.len(); {
			c := *whole
			c.from, c.to = from, e.rowsFrom(s, c.posted, from, cfg.Memory)
			c.post()
			from = c.to
			if !yield(&c) {
				return
			}
		}
	}
}

func (c *counting) post() {
	for side := range c.sides {
		c.indexes = append(c.indexes, newRowIndex(c, side))
	}
	c.heads = make([]head, 1, 1+c.to-c.from)
	for row := c.from; row < c.to; row++ {
		tokens := c.row(row)
		h := head{size: uint32(len(tokens))}
		if n := c.posted[len(tokens)]; n > 0 {
			h.end = tokens[n-1]
		}
		c.heads = append(c.heads, h)
	}
}

func (c *counting) postings() (n int64) {
	for _, x := range c.indexes {
		n += x.posted
	}
	return n
}

func (c *counting) blocks(yield func(from, to uint32) bool) {
	rows := uint64(rowsOfBlock)
	if c.workers == 1 {
		rows *= 8 // nobody waits for a share of them
	}
	rowBlocks(max(c.from, c.lookedUp), c.len(), rows, yield)
}

func (c *counting) total() uint32 { return c.len() }

func (c *counting) finder() finder {
	rows := c.to - c.from + 1
	f := &counter{counting: c, common: make([]uint32, rows), found: make([]uint32, rows), counts: make([]uint32, rows)}
	f.marks = newMarks(c.sets)
	return f
}

// counter looks rows up; it belongs to one goroutine.
type counter struct {
	*counting
	n      int         // tokens of the row at hand
	min    int         // and of the smallest partner
	wanted []condition // [m-min]: of partners of m tokens
	common []uint32    // by row of the part, from 1: tokens counted
	found  []uint32    // rows with some
	counts []uint32    // how many, of those that are left
	hits   []hit
	marks  marks
	stats  Stats
}

// condition is what a pair of rows of n and m tokens wants.
type condition struct {
	overlap uint32    // common tokens
	counted [2]uint32 // those of both prefixes: where the larger row's ends last, and where it ends first
}

func (c *counter) counted() *Stats { return &c.stats }

func (c *counter) find(from, to uint32, emit func(x, y uint32, common int) bool) {
	for x := from; x < to; x++ {
		n := len(c.row(x))
		if c.prefixes[n] == 0 {
			continue
		}
		c.sizes(n)
		if x < c.to && !c.equal(x, emit) {
			return
		}
		for side := range c.sides {
			if !c.lookUp(x, side, emit) {
				return
			}
		}
	}
}

// lookUp emits the pairs of a row, as sets of a side, with rows before it.
func (c *counter) lookUp(x uint32, side int, emit func(x, y uint32, common int) bool) bool {
	members, other := c.of(x, side), c.other(side)
	if len(members) == 0 {
		return true
	}
	for _, h := range c.partners(x, c.indexes[other]) {
		if !cross(members, c.of(h.row, other), int(h.common), emit) {
			return false
		}
	}
	return true
}

// sizes makes the conditions those of rows of n tokens. Rows come by rising size, so it seldom has to.
func (c *counter) sizes(n int) {
	if c.n == n {
		return
	}
	c.n, c.wanted = n, c.wanted[:0]
	c.min, _ = c.measure.Sizes(n)
	c.min = max(c.min, 1)
	for m := c.min; m <= n; m++ {
		overlap := c.measure.MinOverlap(n, m)
		ofY, ofX := overlap-(m-int(c.posted[m])), overlap-(n-int(c.prefixes[n]))
		c.wanted = append(c.wanted, condition{uint32(overlap), [2]uint32{uint32(max(1, ofY)), uint32(max(1, ofX))}})
	}
}

func (c *counter) partners(x uint32, index *rowIndex) []hit {
	prefix, found := c.front(x), 0
	if smallest := max(c.smallest[c.n], c.from) - c.from + 1; smallest <= c.to-c.from {
		found = c.count(index.rows, index.windows(x), smallest)
	}
	return c.verify(x, c.filter(prefix[len(prefix)-1], c.found[:found]))
}

// count counts the tokens of rows, of windows from the smallest row to their ends, and how many rows it finds. Without branches
// for these: most rows come for the first time, or hardly any.
func (c *counter) count(rows, ends []uint32, smallest uint32) (found int) {
	common, all, entries := c.common, c.found, 0
	for _, end := range ends {
		k := end - 1
		for row := rows[k]; row >= smallest; row = rows[k] {
			n := common[row]
			all[found] = row
			found += oneIf(n == 0)
			common[row] = n + 1
			k--
		}
		entries += int(end - 1 - k)
	}
	c.stats.Entries += int64(entries)
	return found
}

// filter leaves the rows that can have as many common tokens as they need, with their counts, where the prefix that is looked
// up ends with a token.
func (c *counter) filter(last uint32, rows []uint32) []uint32 {
	left, heads, common, wanted, smallest := 0, c.heads, c.common, c.wanted, uint32(c.min)
	for _, y := range rows {
		h, n := heads[y], common[y]
		common[y] = 0
		rows[left], c.counts[left] = y, n
		left += oneIf(n >= wanted[h.size-smallest].counted[oneIf(last < h.end)])
	}
	c.stats.Positional += int64(left)
	return rows[:left]
}

// verify compares signatures, and then the tokens of which it is not known whether they are common. All common ones of both
// prefixes are counted, so where y's ends first only those behind it are left; where x's does, y's is counted anew.
func (c *counter) verify(x uint32, rows []uint32) []hit {
	c.hits = c.hits[:0]
	tokens, marked := c.row(x), false
	for i, row := range rows {
		h, a := c.heads[row], int(c.counts[i])
		overlap := int(c.wanted[int(h.size)-c.min].overlap)
		row += c.from - 1
		if !c.fits(x, row, c.n-overlap, int(h.size)-overlap) {
			continue
		}
		if !marked {
			c.marks.set(tokens)
			marked = true
		}
		y, posted := c.row(row), c.posted[h.size]
		if tokens[c.prefixes[c.n]-1] < h.end {
			a = c.marks.count(y[:posted])
		}
		c.stats.Candidates++
		if more, ok := c.marks.atLeast(y[posted:], overlap-a); ok {
			c.hits = append(c.hits, hit{row, uint32(a + more)})
		}
	}
	return c.hits
}

// fits reports whether signatures allow for as few tokens that only x has, and that only y has.
func (c *counter) fits(x, y uint32, ofX, ofY int) bool {
	if c.signatures == nil {
		return true
	}
	if !c.signatures.within(x, y, ofX, ofY) {
		return false
	}
	c.stats.Missing++
	return true
}

// equal emits the pairs of the equal sets of a row.
func (s *sets) equal(r uint32, emit func(x, y uint32, common int) bool) bool {
	n := len(s.row(r))
	if s.sides == 2 {
		return cross(s.of(r, 0), s.of(r, 1), n, emit)
	}
	all := s.all(r)
	for i, a := range all {
		if !cross(all[i+1:], []uint32{a}, n, emit) {
			return false
		}
	}
	return true
}

// cross emits every set of one row with every one of another.
func cross(x, y []uint32, common int, emit func(x, y uint32, common int) bool) bool {
	for _, a := range x {
		for _, b := range y {
			if !emit(a, b, common) {
				return false
			}
		}
	}
	return true
}

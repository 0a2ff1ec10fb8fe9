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
	lookedUp   uint32      // rows from here on are looked up
	indexes    []*rowIndex
	heads      []head // by row of the part
}

// head is what a row is judged by.
type head struct{ size, end uint32 } // end: the last token that it is posted under

// byRows are the parts of a join: rows as far as memory goes, that those from a row on may be similar to.
func byRows(s *sets, cfg Config, e *estimate, lookedUp uint32) iter.Seq[part] {
	return func(yield func(part) bool) {
		if lookedUp == s.len() {
			return
		}
		whole := &counting{sets: s, measure: cfg.Measure, lookedUp: lookedUp}
		if cfg.Model != nil {
			whole.signatures = newSignatures(s, 0, cfg.Model)
		}
		whole.prefixes, whole.posted = prefixesOf(s, cfg.Measure.Prefix), prefixesOf(s, cfg.Measure.IndexPrefix)
		least, _ := cfg.Measure.Sizes(len(s.row(lookedUp)))
		for from := s.first[min(max(least, 1), len(s.row(lookedUp)))]; from < s.len(); {
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
		c.indexes = append(c.indexes, newRowIndex(c.sets, c.posted, side, c.from, c.to))
	}
	c.heads = make([]head, c.to-c.from)
	for i := range c.heads {
		tokens := c.row(c.from + uint32(i))
		c.heads[i].size = uint32(len(tokens))
		if n := c.posted[len(tokens)]; n > 0 {
			c.heads[i].end = tokens[n-1]
		}
	}
}

func (c *counting) postings() (n int64) {
	for _, x := range c.indexes {
		n += int64(len(x.rows))
	}
	return n
}

func (c *counting) blocks(yield func(from, to uint32) bool) {
	rowBlocks(max(c.from, c.lookedUp), c.len(), yield)
}

func (c *counting) total() uint32 { return c.len() }

func (c *counting) finder() finder {
	rows := c.to - c.from
	f := &counter{counting: c, common: make([]uint32, rows), found: make([]uint32, rows+1), counts: make([]uint32, rows+1)}
	f.marks = newMarks(c.sets)
	for side, x := range c.indexes {
		f.cursors[side] = newCursors(x)
	}
	return f
}

// counter looks rows up; it belongs to one goroutine.
type counter struct {
	*counting
	n       int         // tokens of the row at hand
	min     int         // and of the smallest partner
	wanted  []condition // [m-min]: of partners of m tokens
	common  []uint32    // by row of the part: tokens counted
	found   []uint32    // rows with some
	counts  []uint32    // how many, of those that are left
	hits    []hit
	marks   marks
	cursors [2]cursors // in the index of each side
	stats   Stats
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
	for _, h := range c.partners(x, &c.cursors[other]) {
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

func (c *counter) partners(x uint32, lists *cursors) []hit {
	tokens := c.row(x)
	prefix := tokens[:c.prefixes[c.n]]
	from, to := max(c.first[c.min], c.from)-c.from, min(x, c.to)-c.from
	found := 0
	if from < to {
		for _, token := range c.withoutSingle(prefix) {
			found = c.count(lists.between(token, from, to), found)
		}
	}
	return c.verify(x, c.filter(prefix[len(prefix)-1], c.found[:found]))
}

// count counts a token of rows. Without branches: most rows come for the first time, or hardly any.
func (c *counter) count(rows []uint32, found int) int {
	c.stats.Entries += int64(len(rows))
	common, all := c.common, c.found
	for _, row := range rows {
		n := common[row]
		all[found] = row
		found += oneIf(n == 0)
		common[row] = n + 1
	}
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
		row += c.from
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

package cuda

import (
	"errors"
	"slices"
)

// grouped is the hits of a launch by query.
type grouped struct {
	ends []int    // of each query in rows
	rows []uint32 // numbers in the launch, ascending
}

// group takes hits in any order.
func (g *grouped) group(hits []hit, queries int) {
	g.ends = slices.Grow(g.ends[:0], queries+1)[:queries+1]
	clear(g.ends)
	for _, h := range hits {
		g.ends[h.query+1]++
	}
	for q := 1; q <= queries; q++ {
		g.ends[q] += g.ends[q-1]
	}
	g.rows = slices.Grow(g.rows[:0], len(hits))[:len(hits)]
	for _, h := range hits { // what is the end of the query before becomes its own
		g.rows[g.ends[h.query]] = h.row
		g.ends[h.query]++
	}
	begin := 0
	for _, end := range g.ends[:queries] {
		slices.Sort(g.rows[begin:end])
		begin = end
	}
}

// show calls visit for the hits of a launch.
func (l *lane) show(parts []part, visit func(Hit)) error {
	for _, h := range l.raw {
		if int(h.query) >= l.batch.size() || int(h.row/pageRows) >= len(l.pages) {
			return l.device.setLost(errors.New("a hit of a query or row that there is not"))
		}
	}
	l.grouped.group(l.raw, l.batch.size())
	begin := 0
	for q, end := range l.grouped.ends[:l.batch.size()] {
		for _, row := range l.grouped.rows[begin:end] {
			i := l.pages[row/pageRows]
			visit(Hit{Query: uint32(q), Job: parts[i].job, Row: parts[i].first + row - l.segments[i].row})
		}
		begin = end
	}
	return nil
}

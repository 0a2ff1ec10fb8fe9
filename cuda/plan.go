package cuda

import (
	"slices"

	"refrain/hashcodes/hamming"
)

// plan is what one launch compares: segments of rows, all of one number of words, and a table of queries.
type plan struct {
	words    int
	segments []segment
	queries  []uint32         // words + 1 each: signature, radius
	owners   []*hamming.Query // by query index
}

func (p *plan) reset() { p.segments, p.queries, p.owners = p.segments[:0], p.queries[:0], p.owners[:0] }

// add takes rows from to to of some chunks, and queries, into the plan. Queries that can find nothing are left out.
func (p *plan) add(chunks []chunk, from, to int, queries []hamming.Query) {
	first := uint32(len(p.owners))
	for i := range queries {
		q := &queries[i]
		if q.Radius < 0 {
			continue
		}
		p.queries = append(append(p.queries, q.Signature...), uint32(min(q.Radius, 32*p.words)))
		p.owners = append(p.owners, q)
	}
	count := uint32(len(p.owners)) - first
	if count == 0 {
		return
	}
	for _, c := range chunks {
		low, high := max(from, c.first), min(to, c.first+c.stride)
		if low < high {
			p.segments = append(p.segments, segment{planes: c.memory.at, stride: uint32(c.stride), row: uint32(c.first),
				from: uint32(low - c.first), to: uint32(high - c.first), query: first, queries: count})
		}
	}
}

// number gives the segments their units, for a tile of so many rows and pieces of so many queries, and returns how many
// units there are.
func number(segments []segment, tile, piece int) (units int) {
	for i := range segments {
		s := &segments[i]
		s.unit = uint32(units)
		s.pieces = uint32((int(s.queries) + piece - 1) / piece)
		units += s.tiles(tile) * int(s.pieces)
	}
	return units
}

// tiles is the number of tiles that the rows of a segment touch: they begin at multiples, whatever the segment begins with.
func (s *segment) tiles(tile int) int { return (int(s.to)+tile-1)/tile - int(s.from)/tile }

// pieceOf is the number of queries a unit that gives each multiprocessor some sixteen units, within bounds: less would
// leave some idle at the end, more would load rows and queries more often.
func pieceOf(segments []segment, tile, processors int) int {
	work := 0
	for i := range segments {
		work += segments[i].tiles(tile) * int(segments[i].queries)
	}
	return min(max(roundUp(work/(16*processors)+1, 64), 64), 2048)
}

// halves cuts segments in two; ok is false for one row and one query, which nothing can cut.
func halves(segments []segment) (a, b []segment, ok bool) {
	if n := len(segments); n > 1 {
		return segments[:n/2], segments[n/2:], true
	}
	s := segments[0]
	switch one, other := s, s; {
	case s.to-s.from > 1:
		one.to = s.from + (s.to-s.from)/2
		other.from = one.to
		return []segment{one}, []segment{other}, true
	case s.queries > 1:
		one.queries = s.queries / 2
		other.query, other.queries = s.query+one.queries, s.queries-one.queries
		return []segment{one}, []segment{other}, true
	}
	return nil, nil, false
}

// checkpoint is the length that the hits of a query had before a scan: to undo the scan, or to sort what it has added.
type checkpoint struct {
	query *hamming.Query
	from  int
}

func checkpointsOf(jobs []Job) (cuts []checkpoint) {
	for _, job := range jobs {
		for i := range job.Queries {
			q := &job.Queries[i]
			cuts = append(cuts, checkpoint{query: q, from: len(q.Hits)})
		}
	}
	return cuts
}

func (c checkpoint) undo() { c.query.Hits = c.query.Hits[:c.from] }

func (c checkpoint) sort() { slices.Sort(c.query.Hits[c.from:]) }

package cuda

import "math/bits"

// part is what one launch compares of a job: rows of one chunk, and queries.
type part struct {
	segment
	job   uint32
	first uint32 // number of the chunk's first row in the table
}

// divide cuts a job into parts.
func (b *Batch) divide(number int) {
	j := &b.jobs[number]
	if j.First == j.Last {
		return
	}
	for _, c := range j.Rows.chunks {
		low, high := max(j.From, c.first), min(j.To, c.first+c.stride)
		if low < high {
			b.parts = append(b.parts, part{job: uint32(number), first: uint32(c.first), segment: segment{
				planes: c.memory.at, stride: uint32(c.stride), from: uint32(low - c.first), to: uint32(high - c.first),
				query: uint32(j.First), queries: uint32(j.Last - j.First), radii: uint32(j.Class * b.classes)}})
		}
	}
}

// tiles is the number of tiles that the rows of a segment touch: they begin at multiples, whatever the segment begins with.
// The rows of a tile are a power of two, and this is asked for every segment.
func (s *segment) tiles(tile int) int {
	shift := bits.TrailingZeros(uint(tile))
	return (int(s.to)+tile-1)>>shift - int(s.from)>>shift
}

// pieceOf is the number of queries a unit.
func (d *Device) pieceOf(parts []part, tile int) int {
	if d.piece > 0 {
		return d.piece
	}
	return pieceOf(parts, tile, d.processors)
}

// pieceOf is the number of queries a unit that gives each multiprocessor some sixteen units, within bounds: less would
// leave some idle at the end, more would load rows and queries more often.
func pieceOf(parts []part, tile, processors int) int {
	work := 0
	for i := range parts {
		work += parts[i].tiles(tile) * int(parts[i].queries)
	}
	return min(max(roundUp(work/(16*processors)+1, 64), 64), 2048)
}

// halves cuts parts in two; ok is false for one row and one query, which nothing can cut.
func halves(parts []part) (a, b []part, ok bool) {
	if n := len(parts); n > 1 {
		return parts[:n/2], parts[n/2:], true
	}
	s := parts[0]
	switch one, other := s, s; {
	case s.to-s.from > 1:
		one.to = s.from + (s.to-s.from)/2
		other.from = one.to
		return []part{one}, []part{other}, true
	case s.queries > 1:
		one.queries = s.queries / 2
		other.query, other.queries = s.query+one.queries, s.queries-one.queries
		return []part{one}, []part{other}, true
	}
	return nil, nil, false
}

package growth

// Distinct leaves out the sentences of a stream that came before, and a few others: it remembers 16 bits of each in a Bloom
// filter, which takes one of a thousand for another.
type Distinct struct {
	stream *Stream
	seen   []uint64
	ids    []uint64
	Left   int // out so far
}

// NewDistinct is for so many sentences.
func NewDistinct(s *Stream, sentences int) *Distinct {
	return &Distinct{stream: s, seen: make([]uint64, sentences/4+1)}
}

// Next appends the token ids of the next sentence that is new, ascending.
func (d *Distinct) Next(dst []uint64) []uint64 {
	for {
		d.ids, _ = d.stream.Next(d.ids[:0])
		if d.add(d.ids) {
			return append(dst, d.ids...)
		}
		d.Left++
	}
}

// add reports whether a set is new.
func (d *Distinct) add(set []uint64) (isNew bool) {
	r := keyed(set...)
	bits := uint64(len(d.seen)) * 64
	for range 6 {
		bit := r.next() % bits
		isNew = isNew || d.seen[bit/64]>>(bit%64)&1 == 0
		d.seen[bit/64] |= 1 << (bit % 64)
	}
	return isNew
}

package scan

import "refrain/hashcodes"

// band holds the signatures of rows of low to high tokens.
type band struct {
	low, high int
	planes    [][]uint32 // [word][position in the band]
	rows      []uint32   // row of the block
	sizes     []uint8    // number of tokens - low; nil where low is high
	order     order      // of a sealed band
}

func (b *band) add(row uint32, sig hashcodes.Signature) {
	for w, word := range sig {
		b.planes[w] = append(b.planes[w], word)
	}
	b.rows = append(b.rows, row)
}

// clear makes the band empty and keeps its memory.
func (b *band) clear() {
	for w := range b.planes {
		b.planes[w] = b.planes[w][:0]
	}
	b.rows = b.rows[:0]
}

// bytes is the memory behind the slices.
func (b *band) bytes() int64 {
	n := cap(b.rows)
	for _, plane := range b.planes {
		n += cap(plane)
	}
	return 4*int64(n) + int64(cap(b.sizes)) + 2*int64(cap(b.order.starts))
}

// seal makes one band of open ones of adjacent sizes, in order; where that is equal, rows stay as they came.
func seal(open []band) *band {
	s := blank(open)
	next := s.order.count(open)
	for i := range open {
		b := &open[i]
		for k, row := range b.rows {
			at := s.order.class(b.planes, k)
			s.put(int(next[at]), b, k, row)
			next[at]++
		}
	}
	return s
}

// blank is a band with room for the rows of open ones, and no more.
func blank(open []band) *band {
	s := &band{low: open[0].low, high: open[len(open)-1].high}
	n, words := 0, len(open[0].planes)
	for i := range open {
		n += len(open[i].rows)
	}
	memory := make([]uint32, (words+1)*n)
	for range words {
		s.planes = append(s.planes, memory[:n:n])
		memory = memory[n:]
	}
	s.rows = memory
	if s.low < s.high {
		s.sizes = make([]uint8, n)
	}
	return s
}

// put copies row k of an open band to a position.
func (b *band) put(position int, from *band, k int, row uint32) {
	for w, plane := range from.planes {
		b.planes[w][position] = plane[k]
	}
	b.rows[position] = row
	if b.sizes != nil {
		b.sizes[position] = uint8(from.low - b.low)
	}
}

// size is the number of tokens of a row.
func (b *band) size(position uint32) int {
	if b.sizes == nil {
		return b.low
	}
	return b.low + int(b.sizes[position])
}

// signature appends that of a row.
func (b *band) signature(dst hashcodes.Signature, position uint32) hashcodes.Signature {
	for _, plane := range b.planes {
		dst = append(dst, plane[position])
	}
	return dst
}

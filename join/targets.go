package join

import (
	"math/bits"

	"refrain/hashcodes/hamming"
)

// targets are rows of a list that larger ones can find, as far as it was gone through, with their signatures side by side.
// Those of sizes that fit the row at hand are a window, whose beginning moves on.
type targets struct {
	rows       []listed
	low        int // where the window begins
	words      int
	signatures []uint64   // one behind the other
	planes     [][]uint32 // and by words of 32 bits, as far as they are laid
	views      [][]uint32 // the window of each
	query      []uint32   // a signature in such words
}

func (t *targets) init(words int) {
	t.words, t.planes, t.views, t.query = words, make([][]uint32, 2*words), make([][]uint32, 2*words), make([]uint32, 2*words)
}

// clear makes room for so many rows, where there will be no list of more than most.
func (t *targets) clear(rows, most int) {
	if cap(t.rows) < rows {
		room := min(2*rows, most)
		t.rows, t.signatures = make([]listed, 0, room), make([]uint64, 0, room*t.words)
	}
	t.rows, t.low, t.signatures = t.rows[:0], 0, t.signatures[:0]
	if len(t.planes[0]) > 0 {
		for i, plane := range t.planes {
			t.planes[i] = plane[:0]
		}
	}
}

// minScan is how many signatures are worth a scan by a kernel.
const minScan = 48

// add adds a row.
func (t *targets) add(y listed, of *signatures) {
	t.rows, t.signatures = append(t.rows, y), append(t.signatures, of.row(y.row)...)
}

// near appends those of the window that are within a radius.
func (t *targets) near(hits []uint32, signature []uint64, radius int) []uint32 {
	if len(t.rows)-t.low >= minScan {
		return t.scan(hits, signature, radius)
	}
	for i := t.low; i < len(t.rows); i++ {
		if distance(signature, t.signatures[i*t.words:(i+1)*t.words], radius) <= radius {
			hits = append(hits, uint32(i))
		}
	}
	return hits
}

// nearWord is near for signatures of one word.
func (t *targets) nearWord(hits []uint32, signature uint64, radius int) []uint32 {
	if len(t.rows)-t.low >= minScan {
		return t.scan(hits, []uint64{signature}, radius)
	}
	for i, w := range t.signatures[t.low:] {
		if bits.OnesCount64(w^signature) <= radius {
			hits = append(hits, uint32(t.low+i))
		}
	}
	return hits
}

func (t *targets) scan(hits []uint32, signature []uint64, radius int) []uint32 {
	t.layPlanes()
	for i, w := range signature {
		t.query[2*i], t.query[2*i+1] = uint32(w), uint32(w>>32)
	}
	for i, plane := range t.planes {
		t.views[i] = plane[t.low:len(t.rows)]
	}
	from := len(hits)
	hits = hamming.Scan(hits, t.views, t.query, radius)
	for i := range hits[from:] {
		hits[from+i] += uint32(t.low)
	}
	return hits
}

// layPlanes lays what is not laid yet.
func (t *targets) layPlanes() {
	for i, plane := range t.planes {
		if cap(plane) < len(t.rows) {
			t.planes[i] = append(make([]uint32, 0, cap(t.rows)), plane...)
		}
	}
	for i := len(t.planes[0]); i < len(t.rows); i++ {
		for w, word := range t.signatures[i*t.words : (i+1)*t.words] {
			t.planes[2*w] = append(t.planes[2*w], uint32(word))
			t.planes[2*w+1] = append(t.planes[2*w+1], uint32(word>>32))
		}
	}
}

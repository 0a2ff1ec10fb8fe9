package sigstore

import "refrain/hashcodes"

// dictionary numbers the tokens of the live rows, so that rows hold 2 or 3 bytes a token instead of 8 and the code
// of a token is computed once. A number whose last row has gone is given out again.
type dictionary struct {
	model   *hashcodes.Model
	numbers table
	ids     []uint64 // number -> token id
	rows    []uint32 // number -> rows that hold the token now: its document frequency
	codes   []uint32 // number -> code, model.Words() words each
	free    []uint32
	peak    int // most numbers in use
}

func newDictionary(m *hashcodes.Model) *dictionary { return &dictionary{model: m} }

// number looks a token up without taking it in. Its id is a hash already.
func (d *dictionary) number(id uint64) (uint32, bool) {
	return d.numbers.find(id, func(n uint32) bool { return d.ids[n] == id })
}

// take gives the token's number to one more row.
func (d *dictionary) take(id uint64) uint32 {
	n, ok := d.number(id)
	if !ok {
		n = d.newNumber(id)
		d.numbers.add(id, n, d.id)
		d.peak = max(d.peak, d.numbers.live)
	}
	d.rows[n]++
	return n
}

func (d *dictionary) id(n uint32) uint64 { return d.ids[n] }

func (d *dictionary) newNumber(id uint64) uint32 {
	if len(d.free) == 0 {
		d.ids = append(d.ids, 0)
		d.rows = append(d.rows, 0)
		for range d.model.Words() {
			d.codes = append(d.codes, 0)
		}
		d.free = append(d.free, uint32(len(d.ids)-1))
	}
	n := d.free[len(d.free)-1]
	d.free = d.free[:len(d.free)-1]
	d.ids[n] = id
	d.model.Code(d.code(n), id)
	return n
}

// code is the code of a token. It is the dictionary's own.
func (d *dictionary) code(n uint32) hashcodes.Signature {
	words := d.model.Words()
	return hashcodes.Signature(d.codes[int(n)*words : (int(n)+1)*words])
}

// release takes back what take counted for a row.
func (d *dictionary) release(numbers []uint32) {
	for _, n := range numbers {
		d.rows[n]--
		if d.rows[n] == 0 {
			d.numbers.remove(d.ids[n], n)
			d.free = append(d.free, n)
		}
	}
}

// sparse reports whether most numbers are free: after a flood the arrays are much too large.
func (d *dictionary) sparse() bool { return d.peak >= 1024 && d.numbers.live < d.peak/4 }

func (d *dictionary) bytes() int64 {
	return d.numbers.bytes() + 8*int64(cap(d.ids)) + 4*int64(cap(d.rows)+cap(d.codes)+cap(d.free))
}

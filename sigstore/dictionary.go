package sigstore

import "refrain/hashcodes"

// dictionary numbers the tokens of the live rows, so that rows hold 4 bytes a token instead of 8 and the code
// of a token is computed once. A number whose last row has gone is given out again.
type dictionary struct {
	model   *hashcodes.Model
	numbers map[uint64]uint32
	ids     []uint64 // number -> token id
	rows    []uint32 // number -> rows that hold the token now: its document frequency
	codes   []uint32 // number -> code, model.Words() words each
	free    []uint32
	peak    int // largest len(numbers)
}

func newDictionary(m *hashcodes.Model) *dictionary {
	return &dictionary{model: m, numbers: map[uint64]uint32{}}
}

// number looks a token up without taking it in.
func (d *dictionary) number(id uint64) (uint32, bool) {
	n, ok := d.numbers[id]
	return n, ok
}

// take gives the token's number to one more row.
func (d *dictionary) take(id uint64) uint32 {
	n, ok := d.numbers[id]
	if !ok {
		n = d.newNumber(id)
		d.numbers[id] = n
		d.peak = max(d.peak, len(d.numbers))
	}
	d.rows[n]++
	return n
}

func (d *dictionary) newNumber(id uint64) uint32 {
	words := d.model.Words()
	if len(d.free) == 0 {
		d.ids = append(d.ids, 0)
		d.rows = append(d.rows, 0)
		for range words {
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

// code is the token's code inside the dictionary's array.
func (d *dictionary) code(n uint32) hashcodes.Signature {
	words := d.model.Words()
	return hashcodes.Signature(d.codes[int(n)*words : (int(n)+1)*words])
}

// release takes the numbers back from a row that goes.
func (d *dictionary) release(numbers []uint32) {
	for _, n := range numbers {
		d.rows[n]--
		if d.rows[n] == 0 {
			delete(d.numbers, d.ids[n])
			d.free = append(d.free, n)
		}
	}
}

// sparse reports whether most of the dictionary is unused: Go's maps and slices give nothing back by themselves.
func (d *dictionary) sparse() bool { return d.peak >= 1024 && len(d.numbers) < d.peak/4 }

// bytesPerToken is what one dictionary entry costs: map slot at its usual load, id, count, code, and what an
// engine may keep to order the tokens.
func (d *dictionary) bytesPerToken() int64 { return 24 + 8 + 4 + 4*int64(d.model.Words()) + 8 }

func (d *dictionary) bytes() int64 { return int64(len(d.ids)) * d.bytesPerToken() }

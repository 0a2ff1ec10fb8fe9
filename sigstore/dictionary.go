package sigstore

import (
	"math"
	"math/bits"

	"refrain/hashcodes"
)

// dictionary numbers the tokens of the live rows, so that rows hold 2 or 3 bytes a token instead of 8 and the code
// of a token is computed once. A number whose last row has gone is given out again.
type dictionary struct {
	model   *hashcodes.Model
	numbers table
	ids     []uint64 // number -> token id
	rows    []uint32 // number -> rows that hold the token now: its document frequency
	codes   []uint16 // number -> the bits of its code, model.Ones() of them, noBit where there are fewer
	free    []uint32
	peak    int // most numbers in use

	sig hashcodes.Signature // scratch
}

const noBit = math.MaxUint16

func newDictionary(m *hashcodes.Model) *dictionary {
	return &dictionary{model: m, sig: make(hashcodes.Signature, m.Words())}
}

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
	return d.takeNumber(n)
}

// takeNumber is take for a token whose number is known.
func (d *dictionary) takeNumber(n uint32) uint32 {
	d.rows[n]++
	return n
}

func (d *dictionary) id(n uint32) uint64 { return d.ids[n] }

func (d *dictionary) newNumber(id uint64) uint32 {
	if len(d.free) == 0 {
		d.ids = append(d.ids, 0)
		d.rows = append(d.rows, 0)
		for range d.model.Ones() {
			d.codes = append(d.codes, noBit)
		}
		d.free = append(d.free, uint32(len(d.ids)-1))
	}
	n := d.free[len(d.free)-1]
	d.free = d.free[:len(d.free)-1]
	d.ids[n] = id
	d.setCode(n, id)
	return n
}

func (d *dictionary) code(n uint32) []uint16 {
	ones := d.model.Ones()
	return d.codes[int(n)*ones : (int(n)+1)*ones]
}

func (d *dictionary) setCode(n uint32, id uint64) {
	code := d.code(n)
	d.sig = d.model.Code(d.sig, id)
	for w, word := range d.sig {
		for ; word != 0; word &= word - 1 {
			code[0] = uint16(32*w + bits.TrailingZeros32(word))
			code = code[1:]
		}
	}
	for i := range code {
		code[i] = noBit
	}
}

// addCode sets the bits of a token's code.
func (d *dictionary) addCode(sig hashcodes.Signature, n uint32) {
	for _, bit := range d.code(n) {
		if bit != noBit {
			sig[bit/32] |= 1 << (bit % 32)
		}
	}
}

// sign is the signature of a row.
func (d *dictionary) sign(dst hashcodes.Signature, numbers []uint32) hashcodes.Signature {
	clear(dst)
	for _, n := range numbers {
		d.addCode(dst, n)
	}
	return dst
}

// blank is a signature without bits.
func (d *dictionary) blank() hashcodes.Signature { return make(hashcodes.Signature, d.model.Words()) }

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
	return d.numbers.bytes() + 8*int64(cap(d.ids)) + 4*int64(cap(d.rows)+cap(d.free)) + 2*int64(cap(d.codes))
}

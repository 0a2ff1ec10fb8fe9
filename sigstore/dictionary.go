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
	tokens  []token  // by number
	more    []uint16 // by number: the bits of its code that do not fit the token, perMore of them
	perMore int
	free    []uint32
	peak    int         // most numbers in use
	next    *tokenCodes // those of another model, while it is about to take the place of this one; or nil

	sig     hashcodes.Signature // scratch
	touched uint64              // what was read for nothing: were it not used, the compiler would leave that out
}

// token is all that a look-up reads of a token, side by side: in a large window it is a cache miss.
type token struct {
	id   uint64
	rows uint32         // that hold it now: its document frequency
	code [atHand]uint16 // the first bits of its code, noBit where there are fewer
}

const (
	atHand = 2
	noBit  = math.MaxUint16
)

func newDictionary(m *hashcodes.Model) *dictionary {
	return &dictionary{model: m, sig: make(hashcodes.Signature, m.Words()), perMore: max(0, m.Ones()-atHand)}
}

// renew empties the dictionary, and returns what it was.
func (d *dictionary) renew() (before dictionary) {
	before = *d
	*d = *newDictionary(d.model)
	return before
}

func (d *dictionary) len() int { return len(d.tokens) }

// number looks a token up without taking it in. Its id is a hash already.
func (d *dictionary) number(id uint64) (uint32, bool) {
	return d.numbers.find(id, func(n uint32) bool { return d.tokens[n].id == id })
}

// lookup overwrites dst with the numbers of tokens, noNumber for those that no row holds. It goes through the tokens
// several times, so that the memory of all of them is on its way at once: in a large window each is a cache miss or two.
func (d *dictionary) lookup(dst []uint32, ids []uint64) []uint32 {
	dst = dst[:0]
	sum := uint64(0)
	for _, id := range ids {
		sum += d.numbers.word(id) // nothing is decided by it, so that none waits for another
	}
	d.touched += sum
	for _, id := range ids {
		n, ok := d.numbers.first(id)
		if !ok {
			n = noNumber
		}
		dst = append(dst, n)
	}
	for i, n := range dst {
		if int(n) >= len(d.tokens) || d.tokens[n].id != ids[i] {
			dst[i] = d.numberOr(ids[i], noNumber)
		}
	}
	return dst
}

const noNumber = math.MaxUint32

func (d *dictionary) numberOr(id uint64, none uint32) uint32 {
	if n, ok := d.number(id); ok {
		return n
	}
	return none
}

// acquire gives the token's number to one more row.
func (d *dictionary) acquire(id uint64) uint32 {
	n, ok := d.number(id)
	if !ok {
		n = d.newNumber(id)
		d.numbers.add(id, n, d.id)
		d.peak = max(d.peak, d.numbers.live)
	}
	return d.acquireNumber(n)
}

// acquireNumber is acquire for a token whose number is known.
func (d *dictionary) acquireNumber(n uint32) uint32 {
	d.tokens[n].rows++
	return n
}

func (d *dictionary) id(n uint32) uint64 { return d.tokens[n].id }

func (d *dictionary) newNumber(id uint64) uint32 {
	if len(d.free) == 0 {
		d.tokens = append(d.tokens, token{})
		d.more = append(d.more, make([]uint16, d.perMore)...)
		d.free = append(d.free, uint32(len(d.tokens)-1))
	}
	n := d.free[len(d.free)-1]
	d.free = d.free[:len(d.free)-1]
	d.tokens[n].id = id
	d.setCode(n, id)
	if d.next != nil {
		d.next.set(n, id)
	}
	return n
}

// rest are the bits of a token's code beyond those at hand.
func (d *dictionary) rest(n uint32) []uint16 {
	return d.more[int(n)*d.perMore : (int(n)+1)*d.perMore]
}

func (d *dictionary) setCode(n uint32, id uint64) {
	d.sig = d.model.Code(d.sig, id)
	spell(d.sig, &d.tokens[n].code, d.rest(n))
}

// spell writes the bits of a code, the first ones at hand.
func spell(code hashcodes.Signature, at *[atHand]uint16, rest []uint16) {
	i := 0
	put := func(bit uint16) {
		if i < atHand {
			at[i] = bit
		} else {
			rest[i-atHand] = bit
		}
		i++
	}
	for w, word := range code {
		for ; word != 0; word &= word - 1 {
			put(uint16(32*w + bits.TrailingZeros32(word)))
		}
	}
	for i < atHand+len(rest) {
		put(noBit)
	}
}

// addCode sets the bits of a token's code.
func (d *dictionary) addCode(sig hashcodes.Signature, n uint32) {
	addBits(sig, d.tokens[n].code[:])
	if d.perMore > 0 {
		addBits(sig, d.rest(n))
	}
}

func addBits(sig hashcodes.Signature, code []uint16) {
	for _, bit := range code {
		if bit != noBit {
			sig[bit/32] |= 1 << (bit % 32)
		}
	}
}

// addTo adds a token's code to a query, as that of a place of its set.
func (d *dictionary) addTo(q *Query, place int, n uint32) {
	q.addCode(place, d.tokens[n].code[:])
	if d.perMore > 0 {
		q.addCode(place, d.rest(n))
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

// newQuery is an empty query.
func (d *dictionary) newQuery() Query {
	return Query{Signature: d.blank(), Holders: hashcodes.NewHolders(d.model.Bits())}
}

// release takes back what acquire counted for a row.
func (d *dictionary) release(numbers []uint32) {
	for _, n := range numbers {
		t := &d.tokens[n]
		t.rows--
		if t.rows == 0 {
			d.numbers.remove(t.id, n)
			d.free = append(d.free, n)
		}
	}
}

// frequencies are the rows that hold each token, by number.
func (d *dictionary) frequencies() []uint32 {
	f := make([]uint32, len(d.tokens))
	for n := range d.tokens {
		f[n] = d.tokens[n].rows
	}
	return f
}

// sparse reports whether most numbers are free: after a flood the arrays are much too large.
func (d *dictionary) sparse() bool { return d.peak >= 1024 && d.numbers.live < d.peak/4 }

func (d *dictionary) bytes() int64 {
	return d.numbers.bytes() + 16*int64(cap(d.tokens)) + 2*int64(cap(d.more)) + 4*int64(cap(d.free))
}

package sigstore

import (
	"slices"

	"refrain/hashcodes"
)

// tokenCodes are those of a dictionary's tokens under a model that is not the dictionary's yet.
type tokenCodes struct {
	model   *hashcodes.Model
	at      [][atHand]uint16 // by number, as in token
	more    []uint16         // as in dictionary
	perMore int
	sig     hashcodes.Signature // scratch
}

func newTokenCodes(m *hashcodes.Model) tokenCodes {
	return tokenCodes{model: m, perMore: max(0, m.Ones()-atHand), sig: make(hashcodes.Signature, m.Words())}
}

// set computes the code of a number that was given to a token.
func (c *tokenCodes) set(n uint32, id uint64) {
	if missing := int(n) + 1 - len(c.at); missing > 0 {
		c.at = append(c.at, make([][atHand]uint16, missing)...)
		c.more = append(c.more, make([]uint16, missing*c.perMore)...)
	}
	c.sig = c.model.Code(c.sig, id)
	spell(c.sig, &c.at[n], c.rest(n))
}

func (c *tokenCodes) rest(n uint32) []uint16 { return c.more[int(n)*c.perMore : (int(n)+1)*c.perMore] }

// sign is the signature of a row.
func (c *tokenCodes) sign(dst hashcodes.Signature, numbers []uint32) hashcodes.Signature {
	clear(dst)
	for _, n := range numbers {
		addBits(dst, c.at[n][:])
		addBits(dst, c.rest(n))
	}
	return dst
}

func (c *tokenCodes) bytes() int64 { return 4*int64(cap(c.at)) + 2*int64(cap(c.more)) }

// expect says which codes are about to take the place of the dictionary's: new numbers get theirs too. nil: none.
func (d *dictionary) expect(c *tokenCodes) { d.next = c }

// adopt makes the codes the dictionary's own.
func (d *dictionary) adopt(c *tokenCodes) {
	for n := range d.tokens {
		d.tokens[n].code = c.at[n]
	}
	d.model, d.more, d.perMore, d.next = c.model, slices.Clip(c.more), c.perMore, nil
	d.sig = make(hashcodes.Signature, c.model.Words())
}

package sigstore

import "refrain/hashcodes"

// rows is what an index knows of the window it serves: its rows, signed with the codes that the index is of.
type rows struct {
	blocks *blocks
	tokens *dictionary
	codes  *tokenCodes // nil: the dictionary's own

	// Lent to the index.
	numbers []uint32
	sig     hashcodes.Signature
}

var _ Rows = (*rows)(nil)

func (r *rows) Frequencies() []uint32 { return r.tokens.frequencies() }

func (r *rows) Tokens(row Row) []uint32 {
	g := r.blocks.group(row)
	if !g.isAlive() {
		return nil
	}
	r.numbers = readSet(r.numbers[:0], g.set())
	return r.numbers
}

func (r *rows) Signature(tokens []uint32) hashcodes.Signature {
	if r.codes != nil {
		r.sig = r.codes.sign(r.sig, tokens)
	} else {
		r.sig = r.tokens.sign(r.sig, tokens)
	}
	return r.sig
}

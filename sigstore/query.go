package sigstore

import (
	"slices"

	"refrain/feed"
	"refrain/hashcodes"
)

// Search returns the groups that may reach the threshold with x, x's own among them if it is there, and the
// query that found them. Both are valid until the next call.
func (w *Window) Search(x *feed.Sentence) ([]Group, *Query) {
	w.found = w.found[:0]
	q := w.batch.answer(w, x)
	if q == nil {
		q = &w.query[0]
		w.prepare(q, x.Tokens)
		w.index.Search(w.query[:])
	}
	for _, r := range q.Hits {
		if g := w.groupAt(r); g.block.alive(g.n) {
			w.found = append(w.found, g)
		}
	}
	return w.found, q
}

// groupAt is the group of a row, dead or alive.
func (w *Window) groupAt(r Row) Group { return Group{w.blocks[r.Block-w.dropped], r.Row} }

// Frequencies is for the index: by token number, the live rows that hold a token.
func (w *Window) Frequencies() []uint32 { return w.tokens.rows }

// Tokens is for the index: the numbers of a row's tokens, nil of a dead one.
func (w *Window) Tokens(r Row) []uint32 {
	g := w.groupAt(r)
	if !g.block.alive(g.n) {
		return nil
	}
	w.lent = readSet(w.lent[:0], g.block.set(g.n))
	return w.lent
}

func (w *Window) prepare(q *Query, tokens []uint64) {
	q.Size, q.Tokens, q.Hits = len(tokens), q.Tokens[:0], q.Hits[:0]
	clear(q.Signature)
	for _, id := range tokens {
		n, ok := w.tokens.number(id)
		if !ok {
			w.sig = w.cfg.Model.Code(w.sig, id)
			or(q.Signature, w.sig)
			continue
		}
		q.Tokens = append(q.Tokens, n)
		or(q.Signature, w.tokens.code(n))
	}
	slices.Sort(q.Tokens)
}

func or(dst, src hashcodes.Signature) {
	for i, word := range src {
		dst[i] |= word
	}
}

// blank is a signature without bits.
func (d *dictionary) blank() hashcodes.Signature { return make(hashcodes.Signature, d.model.Words()) }

// sign is the signature of a row.
func (d *dictionary) sign(dst hashcodes.Signature, numbers []uint32) hashcodes.Signature {
	clear(dst)
	for _, n := range numbers {
		or(dst, d.code(n))
	}
	return dst
}

// Overlap is the number of tokens that the query and a group have in common.
func (q *Query) Overlap(g Group) int { return overlap(g.block.set(g.n), q.Tokens) }

// Distance is the Hamming distance of the two signatures, in bits.
func (w *Window) Distance(q *Query, g Group) int {
	w.numbers = readSet(w.numbers[:0], g.block.set(g.n))
	w.sig = w.tokens.sign(w.sig, w.numbers)
	return hashcodes.Distance(q.Signature, w.sig)
}

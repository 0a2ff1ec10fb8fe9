package sigstore

import (
	"slices"

	"refrain/feed"
	"refrain/hashcodes"
)

// Search returns the groups that may reach the threshold with x, x's own among them if it is there, and the
// query that found them. Both are valid until the next call.
func (w *Window) Search(x *feed.Sentence) ([]*Group, *Query) {
	q := &w.query[0]
	w.prepare(q, x.Tokens)
	w.index.Search(w.query[:])
	w.found = w.found[:0]
	for _, r := range q.Hits {
		if g := w.at(r); g != nil {
			w.found = append(w.found, g)
		}
	}
	return w.found, q
}

// at is the group of a row, nil if the row is dead.
func (w *Window) at(r Row) *Group { return w.blocks[r.Block-w.dropped].groups[r.Row] }

// Frequencies is for the index: by token number, the live rows that hold a token.
func (w *Window) Frequencies() []uint32 { return w.tokens.rows }

// Tokens is for the index: the numbers of a row's tokens, nil of a dead one.
func (w *Window) Tokens(r Row) []uint32 {
	if g := w.at(r); g != nil {
		return g.tokens
	}
	return nil
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
func (q *Query) Overlap(g *Group) int { return g.overlap(q.Tokens) }

// Distance is the Hamming distance of the two signatures, in bits.
func (w *Window) Distance(q *Query, g *Group) int {
	w.sig = w.tokens.sign(w.sig, g.tokens)
	return hashcodes.Distance(q.Signature, w.sig)
}

// Group returns the group of a token set, or nil.
func (w *Window) Group(h feed.Hash) *Group { return w.groups[h] }

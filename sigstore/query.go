package sigstore

import (
	"slices"

	"refrain/feed"
	"refrain/hashcodes"
)

// Query is a sentence prepared for searching one window.
type Query struct {
	Size      int // tokens, those that no row holds included
	Signature hashcodes.Signature

	numbers []uint32 // of the tokens that some row holds, ascending
	groups  []*Group
	sig     hashcodes.Signature // scratch for rows
}

// Search returns the groups that may reach the threshold with x, x's own among them if it is there, and the
// query that found them. Both are valid until the next call.
func (w *Window) Search(x *feed.Sentence) ([]*Group, *Query) {
	q := &w.query
	w.prepare(q, x.Tokens)
	q.groups = q.groups[:0]
	for _, b := range w.blocks {
		q.groups, w.hits = b.search(q.groups, w.hits, q)
	}
	return q.groups, q
}

func (w *Window) prepare(q *Query, tokens []uint64) {
	q.Size, q.numbers = len(tokens), q.numbers[:0]
	clear(q.Signature)
	for _, id := range tokens {
		n, ok := w.tokens.number(id)
		if !ok {
			w.addCode(q, id)
			continue
		}
		q.numbers = append(q.numbers, n)
		or(q.Signature, w.tokens.code(n))
	}
	slices.Sort(q.numbers)
}

// addCode adds the code of a token that no row holds.
func (w *Window) addCode(q *Query, id uint64) {
	q.sig = w.cfg.Model.Code(q.sig, id)
	or(q.Signature, q.sig)
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
func (q *Query) Overlap(g *Group) int { return g.overlap(q.numbers) }

// Distance is the Hamming distance of the two signatures, in bits.
func (w *Window) Distance(q *Query, g *Group) int {
	q.sig = w.tokens.sign(q.sig, g.tokens)
	return hashcodes.Distance(q.Signature, q.sig)
}

// Group returns the group of a token set, or nil.
func (w *Window) Group(h feed.Hash) *Group { return w.groups[h] }

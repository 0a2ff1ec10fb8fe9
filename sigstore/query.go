package sigstore

import (
	"math/bits"
	"slices"

	"refrain/feed"
	"refrain/hashcodes"
)

// Search returns the groups that may reach the threshold with x, x's own among them if it is there, and the
// query that found them. Both are valid until the next call. Where more than enough are found there may be others: then
// the query is Cut.
func (w *Window) Search(x *feed.Sentence) ([]Group, *Query) {
	q := w.batch.answer(w, x)
	if q == nil {
		q = w.search(x, w.cfg.Enough)
	}
	return w.living(q), q
}

// SearchAll is Search for all groups, however many they are.
func (w *Window) SearchAll(x *feed.Sentence) ([]Group, *Query) {
	q := w.search(x, 0)
	return w.living(q), q
}

func (w *Window) search(x *feed.Sentence, enough int) *Query {
	q := &w.query[0]
	w.prepare(q, x)
	q.Enough = enough
	w.index.Search(w.query[:])
	return q
}

// living are the groups that a query has found and that are alive.
func (w *Window) living(q *Query) []Group {
	w.found = w.found[:0]
	for _, r := range q.Hits {
		if g := w.blocks.group(r); g.isAlive() {
			w.found = append(w.found, g)
		}
	}
	return w.found
}

// Frequencies is for the index: by token number, the live rows that hold a token.
func (w *Window) Frequencies() []uint32 { return w.tokens.frequencies() }

// Tokens is for the index: the numbers of a row's tokens, nil of a dead one.
func (w *Window) Tokens(r Row) []uint32 {
	g := w.blocks.group(r)
	if !g.isAlive() {
		return nil
	}
	w.lent = readSet(w.lent[:0], g.set())
	return w.lent
}

// Signature is for the index: that of a row's tokens.
func (w *Window) Signature(tokens []uint32) hashcodes.Signature {
	w.lentSig = w.tokens.sign(w.lentSig, tokens)
	return w.lentSig
}

// prepare makes the query for a token set, and keeps it for its insertion.
func (w *Window) prepare(q *Query, x *feed.Sentence) {
	q.Size, q.Tokens, q.Hits = len(x.Tokens), q.Tokens[:0], q.Hits[:0]
	q.Enough, q.Cut = w.cfg.Enough, false
	clear(q.Signature)
	clear(q.Counters)
	p := &w.prepared
	*p = prepared{group: x.Group, lost: w.groups.lost(), query: q, unknown: p.unknown[:0]}
	w.numbers = w.tokens.lookUp(w.numbers, x.Tokens)
	for i, n := range w.numbers {
		if n == noNumber {
			p.unknown = append(p.unknown, x.Tokens[i])
			w.addUnknown(q, x.Tokens[i])
			continue
		}
		q.Tokens = append(q.Tokens, n)
		w.tokens.addTo(q, n)
	}
	slices.Sort(q.Tokens)
}

// addUnknown adds the code of a token that no row holds.
func (w *Window) addUnknown(q *Query, id uint64) {
	w.sig = w.cfg.Model.Code(w.sig, id)
	for i, word := range w.sig {
		for ; word != 0; word &= word - 1 {
			q.add(uint16(32*i + bits.TrailingZeros32(word)))
		}
	}
}

func (q *Query) addCode(code []uint16) {
	for _, bit := range code {
		if bit != noBit {
			q.add(bit)
		}
	}
}

// add adds a bit of a token's code.
func (q *Query) add(bit uint16) {
	q.Signature[bit/32] |= 1 << (bit % 32)
	q.Counters[bit]++
}

// prepared is the query of a group as it was when so many were lost: a sentence is inserted right after it is looked up.
type prepared struct {
	group   feed.Hash
	lost    int
	query   *Query
	unknown []uint64 // tokens that no row held
}

// takeTokens numbers the tokens of a new group.
func (w *Window) takeTokens(dst []uint32, x *feed.Sentence) []uint32 {
	p, ids := &w.prepared, x.Tokens
	if p.query != nil && p.group == x.Group && p.lost == w.groups.lost() && len(p.query.Tokens)+len(p.unknown) == len(x.Tokens) {
		for _, n := range p.query.Tokens {
			dst = append(dst, w.tokens.takeNumber(n))
		}
		ids = p.unknown
	}
	for _, id := range ids {
		dst = append(dst, w.tokens.take(id))
	}
	if !slices.IsSorted(dst) {
		slices.Sort(dst)
	}
	return dst
}

// Overlap is the number of tokens that the query and a group have in common.
func (q *Query) Overlap(g Group) int { return overlap(g.set(), q.Tokens) }

// Distance is the Hamming distance of the two signatures, in bits.
func (w *Window) Distance(q *Query, g Group) int {
	w.numbers = readSet(w.numbers[:0], g.set())
	w.sig = w.tokens.sign(w.sig, w.numbers)
	return hashcodes.Distance(q.Signature, w.sig)
}

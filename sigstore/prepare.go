package sigstore

import (
	"math/bits"
	"slices"

	"refrain/feed"
)

// prepare makes the query for a token set, and keeps it for its insertion.
func (s *Searcher) prepare(q *Query, x *feed.Sentence) {
	q.Size, q.Tokens, q.Hits = len(x.Tokens), q.Tokens[:0], q.Hits[:0]
	q.StopAfter, q.Cut = s.stopAfter, false
	clear(q.Signature)
	clear(q.Counters)
	p := &s.prepared
	*p = prepared{group: x.Group, removals: s.groups.removals(), query: q, unknown: p.unknown[:0]}
	s.numbers = s.tokens.lookup(s.numbers, x.Tokens)
	for i, n := range s.numbers {
		if n == noNumber {
			p.unknown = append(p.unknown, x.Tokens[i])
			s.addUnknown(q, x.Tokens[i])
			continue
		}
		q.Tokens = append(q.Tokens, n)
		s.tokens.addTo(q, n)
	}
	slices.Sort(q.Tokens)
}

// addUnknown adds the code of a token that no row holds.
func (s *Searcher) addUnknown(q *Query, id uint64) {
	s.sig = s.coding.Model.Code(s.sig, id)
	for i, word := range s.sig {
		for ; word != 0; word &= word - 1 {
			q.add(uint16(32*i + bits.TrailingZeros32(word)))
		}
	}
}

// prepared is the query of a group as it was after so many removals: a sentence is inserted right after it is looked up.
type prepared struct {
	group    feed.Hash
	removals int
	query    *Query
	unknown  []uint64 // tokens that no row held
}

// isOf reports whether the query is that of x, as things are now.
func (p *prepared) isOf(x *feed.Sentence, removals int) bool {
	return p.query != nil && p.group == x.Group && p.removals == removals && len(p.query.Tokens)+len(p.unknown) == len(x.Tokens)
}

// internTokens numbers the tokens of a new group.
func (s *Searcher) internTokens(dst []uint32, x *feed.Sentence) []uint32 {
	p, ids := &s.prepared, x.Tokens
	if p.isOf(x, s.groups.removals()) {
		for _, n := range p.query.Tokens {
			dst = append(dst, s.tokens.acquireNumber(n))
		}
		ids = p.unknown
	}
	for _, id := range ids {
		dst = append(dst, s.tokens.acquire(id))
	}
	if !slices.IsSorted(dst) {
		slices.Sort(dst)
	}
	return dst
}

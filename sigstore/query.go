package sigstore

import "refrain/hashcodes"

// Query asks for the rows that may match a token set.
type Query struct {
	Tokens    []uint32 // dictionary numbers, ascending, of the tokens that some row holds
	Size      int      // tokens, those that no row holds included
	Signature hashcodes.Signature
	Holders   *hashcodes.Holders // of the same tokens; nil: what lies within the radius is a hit
	Hits      []Row
	// StopAfter is the number of hits from which on the index may stop, 0: never; Cut says that it has.
	StopAfter int
	Cut       bool
}

// MayMatch reports whether a row of m tokens with this signature may match: whether it passes the holders or, without
// them, lies within the radius. b is of the query's size.
func (q *Query) MayMatch(b *hashcodes.SizeBounds, m int, sig hashcodes.Signature) bool {
	if m < b.Min || m > b.Max {
		return false
	}
	if q.Holders == nil {
		return hashcodes.Distance(q.Signature, sig) <= int(b.Radius[m-b.Min])
	}
	tokens, further := b.Apart(m)
	return q.Holders.Within(q.Signature, sig, tokens, further)
}

// Full reports whether the index may stop, and notes that it has.
func (q *Query) Full() bool {
	q.Cut = q.Cut || q.StopAfter > 0 && len(q.Hits) >= q.StopAfter
	return q.Cut
}

// Overlap is the number of tokens that the query and a group have in common.
func (q *Query) Overlap(g Group) int { return overlap(g.set(), q.Tokens) }

// addCode adds bits of the code of the token at a place of the set.
func (q *Query) addCode(place int, code []uint16) {
	for _, bit := range code {
		if bit != noBit {
			q.add(place, bit)
		}
	}
}

// add adds a bit of a token's code.
func (q *Query) add(place int, bit uint16) {
	q.Signature[bit/32] |= 1 << (bit % 32)
	q.Holders.Add(place, int(bit))
}

package auto

import (
	"math/bits"
	"slices"

	"refrain/hashcodes"
	"refrain/sigstore"
)

// asked is how many of the sampled rows are compared with all of them.
const asked = 512

// near is, of a look-up in the whole window, the rows that pass its holders and are not similar enough, as a sample says: what a
// GPU gives back for nothing.
func (x *index) near() float64 {
	rows := x.signed()
	if len(rows) == 0 {
		return 0
	}
	holders := hashcodes.NewHolders(32 * len(rows[0].sig))
	count, queries := 0, 0
	for i := 0; i < len(rows); i += (len(rows) + asked - 1) / asked {
		x.hold(holders, rows[i].tokens)
		count += x.nearTo(&rows[i], holders, rows)
		queries++
	}
	return float64(count) / float64(queries) / float64(len(rows)) * float64(x.count())
}

// signed is a row of the sample.
type signed struct {
	tokens []uint32
	sig    hashcodes.Signature
}

func (x *index) signed() (rows []signed) {
	x.sample(func(r sigstore.Row) {
		if tokens := slices.Clone(x.source.Tokens(r)); len(tokens) > 0 {
			rows = append(rows, signed{tokens, slices.Clone(x.source.Signature(tokens))})
		}
	})
	return rows
}

// hold makes holders those of a set: the signature of a single token is its code.
func (x *index) hold(holders *hashcodes.Holders, tokens []uint32) {
	holders.Reset(len(tokens))
	for i := range tokens {
		for w, word := range x.source.Signature(tokens[i : i+1]) {
			for ; word != 0; word &= word - 1 {
				holders.Add(i, 32*w+bits.TrailingZeros32(word))
			}
		}
	}
}

// nearTo counts the rows that pass the holders of q and are not similar enough.
func (x *index) nearTo(q *signed, holders *hashcodes.Holders, rows []signed) (count int) {
	bounds := x.cfg.Bounds.For(len(q.tokens))
	for i := range rows {
		r := &rows[i]
		size := len(r.tokens)
		if size < bounds.Min || size > bounds.Max {
			continue
		}
		outside, further := bounds.Apart(size)
		if !holders.Within(q.sig, r.sig, outside, further) {
			continue
		}
		if overlap(q.tokens, r.tokens) < int(bounds.Overlap[size-bounds.Min]) {
			count++
		}
	}
	return count
}

// overlap is the number of tokens in both of two ascending sets.
func overlap(a, b []uint32) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			a, b, n = a[1:], b[1:], n+1
		}
	}
	return n
}

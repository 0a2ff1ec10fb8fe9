package auto

import (
	"slices"

	"refrain/hashcodes"
	"refrain/sigstore"
)

// asked is how many of the sampled rows are compared with all of them.
const asked = 512

// near is, of a look-up in the whole window, the rows within the radius that are not similar enough, as a sample says.
func (x *index) near() float64 {
	rows := x.signed()
	if len(rows) == 0 {
		return 0
	}
	count, queries := 0, 0
	for i := 0; i < len(rows); i += max(1, len(rows)/asked) {
		count += x.nearTo(&rows[i], rows)
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

// nearTo counts the rows within the radius of q that are not similar enough.
func (x *index) nearTo(q *signed, rows []signed) (count int) {
	bounds := x.cfg.Bounds.For(len(q.tokens))
	for i := range rows {
		r := &rows[i]
		n := len(r.tokens) - bounds.Min
		if n < 0 || len(r.tokens) > bounds.Max || hashcodes.Distance(q.sig, r.sig) > int(bounds.Radius[n]) {
			continue
		}
		if overlap(q.tokens, r.tokens) < int(bounds.Overlap[n]) {
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

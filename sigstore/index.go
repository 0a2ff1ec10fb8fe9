package sigstore

import "refrain/hashcodes"

// Engine makes the index of a new window over its rows. A window uses its index from one goroutine at a time.
type Engine func(rows Rows) Index

// Index finds, among the rows of a window, those that may reach the threshold: never fewer than do. Rows come in
// blocks, which are numbered from 0 on and go in the order they came. A window closes an index that is an io.Closer when
// it makes itself another.
type Index interface {
	// Open begins the next block. Rows of the blocks before it never change again.
	Open()
	// Add takes in the next row of the newest block. tokens are dictionary numbers, ascending; both slices are
	// only lent.
	Add(tokens []uint32, sig hashcodes.Signature)
	// Drop forgets the oldest block.
	Drop()
	// Search appends to every query's hits its candidates, each at most once, dead rows included or not: all of them
	// unless the query says how many are enough.
	Search(queries []Query)
	// Batch is the number of queries from which on more at once make none of them cheaper.
	Batch() int
	// Bytes is what the index holds in memory.
	Bytes() int64
}

// Row names a row of a window: the number of its block, and its place there, both from 0 on.
type Row struct{ Block, Row uint32 }

// Query asks for the rows that may match a token set.
type Query struct {
	Tokens    []uint32 // dictionary numbers, ascending, of the tokens that some row holds
	Size      int      // tokens, those that no row holds included
	Signature hashcodes.Signature
	Counters  hashcodes.Counters // of the same tokens; nil: what lies within the radius is a hit
	Hits      []Row
	// Enough is the number of hits from which on the index may stop, 0: never; Cut says that it has.
	Enough int
	Cut    bool
}

// MayMatch reports whether a row of m tokens with this signature may match: whether it passes the counters or, without
// them, lies within the radius. b is of the query's size.
func (q *Query) MayMatch(b *hashcodes.SizeBounds, m int, sig hashcodes.Signature) bool {
	if m < b.Min || m > b.Max {
		return false
	}
	if q.Counters == nil {
		return hashcodes.Distance(q.Signature, sig) <= int(b.Radius[m-b.Min])
	}
	own, other := b.Apart(m)
	return q.Counters.Within(q.Signature, sig, own, other)
}

// Full reports whether the index may stop, and notes that it has.
func (q *Query) Full() bool {
	q.Cut = q.Cut || q.Enough > 0 && len(q.Hits) >= q.Enough
	return q.Cut
}

// Rows is what an index may ask of the window it serves.
type Rows interface {
	// Frequencies are, by token number, the live rows that hold a token now.
	Frequencies() []uint32
	// Tokens are the numbers of a row's tokens, ascending, to be read at once; nil of a dead row.
	Tokens(r Row) []uint32
	// Signature is the signature of a set of tokens, to be read at once.
	Signature(tokens []uint32) hashcodes.Signature
}

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
	// Add takes in the next row of the newest block, which Rows may not have yet. tokens are dictionary numbers, ascending;
	// both slices are only lent.
	Add(tokens []uint32, sig hashcodes.Signature)
	// Drop drops the oldest block.
	Drop()
	// Search appends to every query's hits its candidates, each at most once, dead rows included or not: all of them
	// unless the query says after how many it may stop.
	Search(queries []Query)
	// Batch is the number of queries from which on more at once make none of them cheaper.
	Batch() int
	// Bytes is what the index holds in memory.
	Bytes() int64
}

// Row names a row of a window: the number of its block, and its place there, both from 0 on.
type Row struct{ Block, Row uint32 }

// Rows is what an index may ask of the window it serves.
type Rows interface {
	// Frequencies are, by token number, the live rows that hold a token now.
	Frequencies() []uint32
	// Tokens are the numbers of a row's tokens, ascending, to be read at once; nil of a dead row.
	Tokens(r Row) []uint32
	// Signature is the signature of a set of tokens, to be read at once.
	Signature(tokens []uint32) hashcodes.Signature
}

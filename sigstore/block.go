package sigstore

import (
	"github.com/bits-and-blooms/bitset"

	"refrain/feed"
	"refrain/hashcodes"
)

// Engine opens the index of a new block; df[number] is the number of live rows that hold a token by then. A
// window uses its engine and the indexes from one goroutine at a time.
type Engine func(df []uint32) Index

// Index finds, among the rows of one block, those that may reach the threshold: never fewer than do.
type Index interface {
	// Add takes in the next row. tokens are dictionary numbers, ascending; both slices are only lent.
	Add(row uint32, tokens []uint32, sig hashcodes.Signature)
	// Search appends candidates, each row at most once. size counts the tokens of the searched set, those
	// in tokens are the ones the dictionary knows, ascending.
	Search(hits []uint32, tokens []uint32, size int, sig hashcodes.Signature) []uint32
	// Bytes is what the index holds on the heap.
	Bytes() int64
}

// block holds the groups that were born, or moved on, in one slice of time. It goes as a whole.
type block struct {
	groups []*Group
	index  Index
	dead   bitset.BitSet // rows deleted, expired or moved on
	live   int
	opened feed.Time // W when it was opened, or when the clock started
	closed feed.Time // W when it was closed
	full   bool      // closed: no new rows
}

func (b *block) add(g *Group, sig hashcodes.Signature) {
	g.block, g.row = b, uint32(len(b.groups))
	b.groups = append(b.groups, g)
	b.live++
	b.index.Add(g.row, g.tokens, sig)
}

// kill marks the row dead. The postings stay until the block goes.
func (b *block) kill(row uint32) {
	b.dead.Set(uint(row))
	b.groups[row] = nil
	b.live--
}

// search appends the live groups that may reach the threshold.
func (b *block) search(dst []*Group, scratch []uint32, q *Query) ([]*Group, []uint32) {
	scratch = b.index.Search(scratch[:0], q.numbers, q.Size, q.Signature)
	for _, row := range scratch {
		if !b.dead.Test(uint(row)) {
			dst = append(dst, b.groups[row])
		}
	}
	return dst, scratch
}

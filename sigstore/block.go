package sigstore

import (
	"github.com/bits-and-blooms/bitset"

	"refrain/feed"
)

// block holds the groups that were born, or moved on, in one slice of time. It goes as a whole.
type block struct {
	groups []*Group
	dead   bitset.BitSet // rows deleted, expired or moved on
	live   int
	opened feed.Time // W when it was opened, or when the clock started
	closed feed.Time // W when it was closed
	full   bool      // closed: no new rows
}

func (b *block) add(g *Group) {
	g.block, g.row = b, uint32(len(b.groups))
	b.groups = append(b.groups, g)
	b.live++
}

// kill marks the row dead. The postings stay until the block goes.
func (b *block) kill(row uint32) {
	b.dead.Set(uint(row))
	b.groups[row] = nil
	b.live--
}

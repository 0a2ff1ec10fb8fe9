package sigstore

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// Group names a group of a window: the sentences with one token set. It is valid until the window next changes
// otherwise than by an insertion. The zero Group is none.
type Group struct {
	block *block
	n     uint32
}

// IsNone reports whether g is no group.
func (g Group) IsNone() bool { return g.block == nil }

// Size is the number of tokens of the group.
func (g Group) Size() int {
	r := reader{g.set()}
	return int(r.uvarint())
}

func (g Group) row() *row { return g.block.row(g.n) }

func (g Group) isAlive() bool { return g.block.alive(g.n) }

// set is the group's written token set.
func (g Group) set() []byte { return g.block.set(g.n) }

// newest is the position of the newest record of a group with a chain.
func (g Group) newest() uint64 { return g.block.arena.base + uint64(g.row().records) }

// number is the group's in the table of names.
func (g Group) number() uint32 { return g.block.base + g.n }

func hashBytes(b []byte) uint64 { return xxh3.Hash(b) }

// keyOfHash is the half of a group's name under which a window finds it; the other half chooses the partition. Two token
// sets may share it, by chance once in 4,000 windows of 10⁸ of them, and on purpose for 2³² hashes: so Get compares the
// sets.
func keyOfHash(h *feed.Hash) uint64 { return binary.LittleEndian.Uint64(h[8:]) }

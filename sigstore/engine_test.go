package sigstore

import (
	"refrain/hashcodes"
)

// allRows is the index that leaves every row to the verification.
type allRows struct {
	first  uint32
	blocks []uint32 // rows of each
}

func newAllRows(Rows) Index { return &allRows{} }

func (x *allRows) Open() { x.blocks = append(x.blocks, 0) }

func (x *allRows) Add([]uint32, hashcodes.Signature) { x.blocks[len(x.blocks)-1]++ }

func (x *allRows) Drop() {
	x.first++
	x.blocks = x.blocks[1:]
}

func (x *allRows) Batch() int { return 8 }

func (x *allRows) Bytes() int64 { return 4 * int64(cap(x.blocks)) }

func (x *allRows) Search(queries []Query) {
	for i := range queries {
		for b, n := range x.blocks {
			for row := range n {
				queries[i].Hits = append(queries[i].Hits, Row{x.first + uint32(b), row})
			}
		}
	}
}

package join

import (
	"fmt"
	"math"

	"refrain/text"
)

// Memory is about how many bytes a join of a with itself, or with b where that is not nil, takes beside the collections, at most.
// Config.Memory may be less: then the rows are posted part by part, and looked up in each.
func Memory(cfg Config, a, b *Collection) int64 {
	collections := []*Collection{a}
	if b != nil {
		collections = append(collections, b)
	}
	e := newEstimate(cfg, collections)
	return e.fixed + e.part(e.postings, e.rows)
}

// estimate is what a join needs.
type estimate struct {
	workers        int64
	entry          int64 // bytes of an entry
	rows, postings int64
	fixed          int64 // bytes, whatever the parts
	lists          int64 // bytes of the lists of a part, whatever it has
}

func newEstimate(cfg Config, collections []*Collection) *estimate {
	e := &estimate{workers: int64(cfg.Workers), entry: 8}
	distinct, tokens := int64(0), int64(0)
	for _, c := range collections {
		distinct, tokens = distinct+int64(c.Distinct()), tokens+int64(c.Tokens())
		e.rows += int64(c.Len())
		e.postings += postings(cfg.Measure, c)
	}
	e.lists = 4 * distinct * int64(len(collections))
	e.fixed = 4*tokens + 12*e.rows + (8+4+4)*distinct
	if len(collections) == 2 {
		e.fixed += 28 * distinct // both vocabularies in one
	}
	if cfg.Algorithm == Ours {
		e.entry += 8
		e.fixed += 8*e.rows + 8*distinct
	}
	e.fixed += e.workers * 3 * (2*chunkSize*32 + blockRows)
	return e
}

// part is what a part of so many postings and rows takes.
func (e *estimate) part(postings, rows int64) int64 {
	return e.lists + e.entry*postings + 4*rows*e.workers
}

// maxPostings is how many entries an index can have.
const maxPostings = math.MaxUint32

// minPart is how many rows a part has at least.
const minPart = 1024

// check refuses less memory than a join can do with.
func (e *estimate) check(memory int64) error {
	perRow := e.postings / max(1, e.rows)
	if needed := e.fixed + e.part(min(e.rows, minPart)*perRow, min(e.rows, minPart)); memory > 0 && needed > memory {
		return fmt.Errorf("join: takes at least %d bytes of memory, and may take %d", needed, memory)
	}
	return nil
}

// partEnd is how far a part goes that begins at a row.
func (e *estimate) partEnd(j *joined, from uint32, memory int64) uint32 {
	posted, to := int64(0), from
	for ; to < j.len(); to++ {
		posted += int64(j.prefixes[len(j.row(to))])
		full := memory > 0 && e.fixed+e.part(posted, int64(to-from)) > memory
		if full && to-from >= minPart || posted > maxPostings {
			break
		}
	}
	return to
}

// postings is how many entries a collection has at most.
func postings(m text.Measure, c *Collection) (n int64) {
	sizes := make([]int64, c.largest+1)
	for i := range c.Len() {
		sizes[c.Size(i)]++
	}
	for size, count := range sizes {
		if count > 0 {
			n += count * int64(m.IndexPrefix(size))
		}
	}
	return n
}

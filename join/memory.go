package join

import (
	"fmt"
	"math"
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
	rows, postings int64
	fixed          int64 // bytes, whatever the parts
	lists          int64 // bytes of the beginnings of a part's lists, at most
	byToken        bool  // parts are tokens, and not rows
	perRow         int64 // bytes of a part's row, of a worker
	words          int   // of signatures
}

const bytesPerEntry = 8

func newEstimate(cfg Config, collections []*Collection) *estimate {
	e := &estimate{workers: int64(cfg.Workers), perRow: 4}
	distinct, tokens := int64(0), int64(0)
	for _, c := range collections {
		distinct, tokens = distinct+int64(c.Distinct()), tokens+int64(c.Tokens())
		e.rows += int64(c.Len())
	}
	e.words = wordsFor(tokens / max(1, e.rows))
	e.byToken = cfg.Algorithm == Ours && (cfg.look == byToken || cfg.look == bySize && tokens <= maxListed*e.rows)
	prefix := cfg.Measure.IndexPrefix
	if e.byToken {
		prefix = cfg.Measure.Prefix
	}
	e.postings = postings(prefix, collections)
	e.fixed = 8*tokens + 12*e.rows + (4+8)*distinct + e.workers*3*2*chunkSize*pairBytes
	e.lists = 4 * distinct
	if len(collections) == 2 {
		e.fixed += 28 * distinct // both vocabularies in one
	}
	if len(collections) == 2 && !e.byToken {
		e.lists *= 2
	}
	if cfg.Algorithm == Ours {
		e.addOurs(cfg, distinct)
	}
	return e
}

// addOurs adds what Ours takes beside the paper's algorithms.
func (e *estimate) addOurs(cfg Config, distinct int64) {
	const grouping, head = 4 + 8 + 4, 8
	e.fixed += grouping * e.rows
	switch {
	case cfg.Model != nil:
		e.fixed += 8 * int64((cfg.Model.Words()+1)/2) * (distinct + e.rows)
	case e.byToken:
		e.fixed += 8 * int64(e.words) * e.rows
	}
	if e.byToken {
		e.fixed += 4 * distinct
		return
	}
	e.fixed += head * e.rows
	e.perRow = 4 + 4 + 4 // counted, found, and what is left
}

// maxListed is the mean size up to which Ours goes token by token: there most of the work is looking up short lists, and
// signatures tell sets apart. Those of larger ones are near by chance, and to count an entry is less work than to scan its
// signature.
const maxListed = 32

const pairBytes = 32

// part is what a part of so many postings and rows takes.
func (e *estimate) part(postings, rows int64) int64 {
	if e.byToken {
		rows = 0
	}
	return e.lists + bytesPerEntry*postings + e.perRow*rows*e.workers
}

// maxPostings is how many entries an index can have: with as many rows behind them their numbers have 32 bits.
const maxPostings = math.MaxInt32

// minPart is how many rows a part has at least.
const minPart = 1024

// check refuses less memory than a join can do with.
func (e *estimate) check(memory int64) error {
	rows := min(e.rows, minPart)
	needed := e.fixed + e.part(rows*e.postings/max(1, e.rows), rows)
	if e.byToken {
		needed = e.fixed + e.part(min(e.rows, e.postings), 0) // one list may have all rows
	}
	if memory > 0 && needed > memory {
		return fmt.Errorf("join: takes at least %d bytes of memory, and may take %d", needed, memory)
	}
	return nil
}

// rowsFrom is how far a part goes that begins at a row.
func (e *estimate) rowsFrom(s *sets, prefixes []uint32, from uint32, memory int64) uint32 {
	posted, to := int64(0), from
	for ; to < s.len(); to++ {
		posted += int64(prefixes[len(s.row(to))])
		full := memory > 0 && e.fixed+e.part(posted, int64(to-from)) > memory
		if to-from >= minPart && full || posted > maxPostings {
			break
		}
	}
	return to
}

// tokensFrom is how far a part goes that begins at a token: it has one list at least.
func (e *estimate) tokensFrom(lengths []uint32, from uint32, memory int64) uint32 {
	posted, to := int64(0), from
	for ; to < uint32(len(lengths)); to++ {
		posted += int64(lengths[to])
		full := memory > 0 && e.fixed+e.part(posted, 0) > memory
		if to > from && (full || posted > maxPostings) {
			break
		}
	}
	return to
}

// postings is how many entries collections have at most.
func postings(prefix func(n int) int, collections []*Collection) (n int64) {
	for _, c := range collections {
		sizes := make([]int64, c.largest+1)
		for i := range c.Len() {
			sizes[c.Size(i)]++
		}
		for size, count := range sizes {
			if count > 0 {
				n += count * int64(prefix(size))
			}
		}
	}
	return n
}

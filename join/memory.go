package join

import (
	"fmt"
	"math"
	"slices"
)

// Memory is about how many bytes a join of a with itself, or with b where that is not nil, takes beside the collections, at most.
// Config.Memory may be less, down to MinMemory: then the rows are posted part by part, and looked up in each.
func Memory(cfg Config, a, b *Collection) int64 {
	e := newEstimate(cfg, collectionsOf(a, b))
	return e.whole()
}

// MinMemory is the least Config.Memory that a join of a with itself, or with b, can do with.
func MinMemory(cfg Config, a, b *Collection) int64 {
	return newEstimate(cfg, collectionsOf(a, b)).min()
}

func collectionsOf(a, b *Collection) []*Collection {
	if b == nil {
		return []*Collection{a}
	}
	return []*Collection{a, b}
}

// estimate is what a join needs.
type estimate struct {
	workers        int64
	rows, postings int64
	distinct       int64     // tokens, of each collection
	fixed          int64     // bytes, whatever the parts
	lists          int64     // bytes of the beginnings of a part's lists, at most
	byToken        bool      // parts are tokens, and not rows
	perRow         int64     // bytes of a part's row, of a worker
	long           *estimate // of rows that are too long for lists, row by row; nil: none
}

const bytesPerEntry = 8

func newEstimate(cfg Config, collections []*Collection) *estimate {
	e := &estimate{workers: int64(cfg.Workers), perRow: 4}
	tokens, largest := int64(0), 0
	for _, c := range collections {
		e.distinct, tokens = e.distinct+int64(c.Distinct()), tokens+int64(c.Tokens())
		e.rows, largest = e.rows+int64(c.Len()), max(largest, c.largest)
	}
	e.byToken = cfg.Algorithm == Ours && (cfg.look == byToken || cfg.look == bySize && tokens <= maxListed*e.rows)
	e.fixed = (4+8)*e.distinct + e.workers*3*2*chunkSize*pairBytes
	if len(collections) == 2 {
		e.fixed += 28 * e.distinct // both vocabularies in one
	}
	if cfg.Algorithm == Ours {
		e.addOurs(cfg, collections, tokens)
	} else {
		e.addRows(cfg.Measure.IndexPrefix, collections)
		e.fixed += 8*tokens + 12*e.rows
	}
	if e.byToken && largest > longest {
		cfg.look = byRow
		e.long = newEstimate(cfg, collections)
	}
	return e
}

// addRows adds what any algorithm takes that goes row by row.
func (e *estimate) addRows(prefix func(n int) int, collections []*Collection) {
	e.postings = postings(prefix, collections)
	e.lists = 4 * e.distinct * int64(len(collections))
}

// addOurs adds what Ours takes. Groups of equal sets are forgotten before there are signatures, or an index.
func (e *estimate) addOurs(cfg Config, collections []*Collection, tokens int64) {
	const row, group, head = 8 + 4 + 4, 16 + 8 + 4 + 4 + 4, 8
	const counted, cursor = 4 + 4 + 4, 12 // and found, and what is left
	words := int64(5)                     // of signatures: to scan, and to check
	if cfg.Model != nil {
		words = int64((cfg.Model.Words() + 1) / 2)
		e.fixed += 8 * words * e.distinct
	}
	e.fixed += 4*tokens + row*e.rows + e.workers*e.distinct/8
	if e.byToken {
		e.postings = postings(cfg.Measure.Prefix, collections)
		e.lists = 4 * e.distinct
		e.fixed += max(group, 8*words)*e.rows + 4*e.distinct + e.atHand(collections, words)
		return
	}
	e.addRows(cfg.Measure.IndexPrefix, collections)
	e.perRow = counted
	e.fixed += max(group, head)*e.rows + cursor*e.workers*e.lists/4
	if cfg.Model != nil {
		e.fixed += 8 * words * e.rows
	}
}

// atHand is the list that each worker has at hand, laid out for both sides.
func (e *estimate) atHand(collections []*Collection, words int64) int64 {
	const row, hit = 8, 8 // hits grow, with room to spare
	longest := min(longestList(collections), e.postings)
	return e.workers * longest * (int64(len(collections))*(row+2*8*min(words, wide)) + hit)
}

// longestList is how many rows have one token, at most.
func longestList(collections []*Collection) (n int64) {
	for _, c := range collections {
		n += int64(slices.Max(append([]uint32{0}, c.vocabulary.frequency...)))
	}
	return n
}

// maxListed is the mean size up to which Ours goes token by token: there most of the work is looking up short lists, and
// signatures tell sets apart. Those of larger ones are near by chance, and to count an entry is less work than to scan its
// signature.
const maxListed = 32

const pairBytes = 32

// whole is what a join in one part takes.
func (e *estimate) whole() int64 {
	whole := e.fixed + e.part(e.postings, e.rows)
	if e.long != nil {
		whole = max(whole, e.long.whole())
	}
	return whole
}

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

// min is what a join with the smallest parts takes.
func (e *estimate) min() int64 {
	if e.byToken {
		least := e.fixed + e.part(min(e.rows, e.postings), 0) // one list may have all rows
		if e.long != nil {
			least = max(least, e.long.min())
		}
		return least
	}
	rows := min(e.rows, minPart)
	return e.fixed + e.part(rows*e.postings/max(1, e.rows), rows)
}

// check refuses less memory than a join can do with.
func (e *estimate) check(memory int64) error {
	if needed := e.min(); memory > 0 && needed > memory {
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

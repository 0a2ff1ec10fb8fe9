// Package ppjoin is a plain streaming PPJoin: the yardstick of the product's prefix engine.
//
// It is the join of Xiao et al. (WWW 2008) with its prefix and its positional filter, and nothing else: no signatures,
// no window, no groups. Records come in the order of a stream, not of size, so the shorter index prefix of the paper's
// Lemma 3 does not hold, and each record is posted under the whole prefix that it is looked up with. What a yardstick
// is owed is done: one total order of the tokens for the whole stream, rarest first, given up front; ids interned by a
// table of its own; lists, records and overlaps in flat arrays without pointers, each list in one piece; and
// Algorithm 2's verification, which begins where the prefixes end and stops as soon as the threshold is out of reach.
//
// It is exact for Jaccard at any threshold.
package ppjoin

import (
	"math"
	"slices"

	"refrain/text"
)

// Join holds the records seen so far. Not safe for concurrent use.
type Join struct {
	sizes   sizes
	numbers *numbers
	lists   lists
	tokens  []uint32 // of all records, one after the other, each rarest first
	ends    []uint32 // record -> where its tokens end
	states  []candidateState

	searches   uint32
	record     []uint32 // the tokens of the record at hand
	candidates []uint32
	met        int
	verified   int
}

// candidateState is what the search at hand knows of an earlier record.
type candidateState struct {
	search uint32 // that saw it last
	common uint32 // tokens both prefixes share so far; 0: it cannot reach the threshold any more
}

// New returns an empty join. Order lists token ids, the rarest first, each once; it may be empty. A token outside it
// counts as rarer than all that were seen before. The order decides the speed and never the answer.
func New(t text.Threshold, order []uint64) *Join {
	return &Join{sizes: sizes{threshold: t}, numbers: newNumbers(order), lists: newLists(len(order))}
}

// Len is the number of records.
func (j *Join) Len() int { return len(j.ends) }

// Candidates counts the records that all searches so far had to verify.
func (j *Join) Candidates() int { return j.verified }

// Met counts the entries of lists, of records whose size fits, that all searches so far have gone through.
func (j *Join) Met() int { return j.met }

// Bytes is what the join holds on the heap.
func (j *Join) Bytes() int64 {
	return 4*int64(cap(j.tokens)+cap(j.ends)) + 8*int64(cap(j.states)) + j.lists.bytes() + 16*int64(len(j.numbers.slots))
}

// Next appends to hits the earlier records, numbered from 0, whose Jaccard with the set of ids is at least the
// threshold, in no particular order, and adds the record. Ids holds none twice, and at most 65,535.
func (j *Join) Next(hits []uint32, ids []uint64) []uint32 {
	j.number(ids)
	hits = j.search(hits)
	j.add(j.record)
	return hits
}

// Search is Next without adding the record.
func (j *Join) Search(hits []uint32, ids []uint64) []uint32 {
	j.number(ids)
	return j.search(hits)
}

// Add is Next without searching.
func (j *Join) Add(ids []uint64) {
	j.number(ids)
	j.add(j.record)
}

// number makes the record at hand.
func (j *Join) number(ids []uint64) {
	if len(ids) > math.MaxUint16 {
		panic("ppjoin: a set of more than 65,535 tokens")
	}
	j.record = j.numbers.of(j.record[:0], ids)
	slices.Sort(j.record)
}

func (j *Join) search(hits []uint32) []uint32 {
	if len(j.record) == 0 {
		return hits
	}
	j.probe(j.record)
	return j.verify(hits, j.record)
}

// probe collects the candidates of x (Algorithm 1): those that the positional filter leaves. A row that cannot reach the
// threshold even if every token before this one were common is passed over before its state is fetched, which is what
// costs time; should it be a candidate already, verification turns it away.
func (j *Join) probe(x []uint32) {
	b := j.sizes.of(len(x))
	j.nextSearch()
	for i := range b.prefix {
		for _, p := range j.lists.of(x[i]) {
			m := int(p.size) - b.min
			if uint(m) >= uint(len(b.overlap)) {
				continue
			}
			j.met++
			need, left := int(b.overlap[m]), min(len(x)-i, int(p.size)-int(p.position))
			if min(i, int(p.position))+left >= need {
				j.observe(p.row, left, need)
			}
		}
	}
	j.verified += len(j.candidates)
}

// observe notes one more common token of a row, of which so many can still be common, this one included, where so many
// are needed. A row that fails at its first common token needs no state: it fails at every further one.
func (j *Join) observe(row uint32, left, need int) {
	k := &j.states[row]
	switch {
	case k.search != j.searches:
		if left >= need {
			*k = candidateState{j.searches, 1}
			j.candidates = append(j.candidates, row)
		}
	case int(k.common)+left < need:
		k.common = 0
	case k.common > 0:
		k.common++
	}
}

// nextSearch numbers the search. When the numbers wrap, the states of long ago must not count as new.
func (j *Join) nextSearch() {
	j.candidates = j.candidates[:0]
	j.searches++
	if j.searches == 0 {
		clear(j.states)
		j.searches = 1
	}
}

// verify appends the candidates that reach the threshold (Algorithm 2). The record whose prefix ends with the smaller
// token has all of its common prefix tokens counted: only what follows its prefix can add to them.
func (j *Join) verify(hits, x []uint32) []uint32 {
	b := j.sizes.of(len(x))
	for _, row := range j.candidates {
		common := int(j.states[row].common)
		if common == 0 {
			continue
		}
		y := j.recordOf(row)
		need := int(b.overlap[len(y)-b.min]) - common
		restX, restY := x[b.prefix:], y[common:]
		if end := j.sizes.of(len(y)).prefix; y[end-1] < x[b.prefix-1] {
			restX, restY = x[common:], y[end:]
		}
		if share(restX, restY, need) {
			hits = append(hits, row)
		}
	}
	return hits
}

// share says whether two sorted lists have at least need tokens in common.
func share(x, y []uint32, need int) bool {
	for need > 0 {
		if len(x) < need || len(y) < need {
			return false
		}
		switch {
		case x[0] == y[0]:
			need--
			x, y = x[1:], y[1:]
		case x[0] < y[0]:
			x = x[1:]
		default:
			y = y[1:]
		}
	}
	return true
}

func (j *Join) recordOf(row uint32) []uint32 {
	var begin uint32
	if row > 0 {
		begin = j.ends[row-1]
	}
	return j.tokens[begin:j.ends[row]]
}

// add posts a record under its prefix.
func (j *Join) add(x []uint32) {
	p := posting{row: uint32(len(j.ends)), size: uint16(len(x))}
	if len(x) > 0 {
		for i := range j.sizes.of(len(x)).prefix {
			p.position = uint16(i)
			j.lists.add(x[i], p)
		}
	}
	j.tokens = append(roomFor(j.tokens, len(x)), x...)
	j.ends = append(roomFor(j.ends, 1), uint32(len(j.tokens)))
	j.states = append(roomFor(j.states, 1), candidateState{})
}

// roomFor doubles a full slice. Append alone grows long ones by a quarter, and copies them four times as often.
func roomFor[T any](s []T, n int) []T {
	if len(s)+n <= cap(s) {
		return s
	}
	return slices.Grow(s, max(n, len(s)))
}

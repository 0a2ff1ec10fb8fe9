package sigstore

import (
	"io"

	"refrain/feed"
	"refrain/hashcodes"
)

// Searcher finds the groups of a window that a sentence may match. It owns the index and the codes that rows are
// signed with, and what is asked of both.
//
//	Expect             says what will be looked up next
//	Search, SearchAll  the candidates, and the query that found them
//	Distance           between a query's signature and a group's
//	Model              what the codes are of
//
// The window tells it of blocks and rows, in their order: open, add, addGroup, drop, renew. To change the codes is recode,
// recodeSome and abandon.
type Searcher struct {
	groups    *Groups
	blocks    *blocks
	tokens    *dictionary
	coding    Coding
	stopAfter int // candidates from which on Search may leave out others; 0: it gives all
	index     Index
	recoding  *recoding // nil: none is under way

	batch    batch
	query    [1]Query
	prepared prepared
	found    []Group

	// Scratch.
	sig     hashcodes.Signature
	numbers []uint32
	touched uint64 // what was read for nothing: were it not used, the compiler would leave that out
}

// Coding is what rows are signed with and found by: a model, the radii that it asks for, and an engine for both.
type Coding struct {
	Model  *hashcodes.Model
	Bounds *hashcodes.Bounds
	Engine Engine
}

func newSearcher(coding Coding, stopAfter int, groups *Groups, in *blocks, tokens *dictionary) *Searcher {
	s := &Searcher{coding: coding, stopAfter: stopAfter, groups: groups, blocks: in, tokens: tokens}
	s.makeScratch()
	s.index = coding.Engine(s.rows())
	return s
}

// makeScratch makes what has the model's length.
func (s *Searcher) makeScratch() { s.query[0], s.sig = s.tokens.newQuery(), s.tokens.blank() }

// rows are for an index with the codes in use.
func (s *Searcher) rows() *rows {
	return &rows{blocks: s.blocks, tokens: s.tokens, sig: s.tokens.blank()}
}

// Model is what the codes in use are of.
func (s *Searcher) Model() *hashcodes.Model { return s.coding.Model }

// Search returns the groups that may reach the threshold with x, x's own among them if it is there, and the
// query that found them. Both are valid until the next call. Where the search stopped after enough of them there may be
// others: then the query is Cut.
func (s *Searcher) Search(x *feed.Sentence) ([]Group, *Query) {
	q := s.batch.answer(s, x)
	if q == nil {
		q = s.search(x, s.stopAfter)
	}
	return s.living(q), q
}

// SearchAll is Search for all groups, however many they are.
func (s *Searcher) SearchAll(x *feed.Sentence) ([]Group, *Query) {
	q := s.search(x, 0)
	return s.living(q), q
}

func (s *Searcher) search(x *feed.Sentence, stopAfter int) *Query {
	q := &s.query[0]
	s.prepare(q, x)
	q.StopAfter = stopAfter
	s.index.Search(s.query[:])
	return q
}

// living are the groups that a query has found and that are alive.
func (s *Searcher) living(q *Query) []Group {
	s.found = s.found[:0]
	s.touched += s.blocks.touch(q.Hits)
	for _, r := range q.Hits {
		if g := s.blocks.group(r); g.isAlive() && s.groups.clean(g) {
			s.found = append(s.found, g)
		}
	}
	return s.found
}

// Distance is the Hamming distance of the two signatures, in bits.
func (s *Searcher) Distance(q *Query, g Group) int {
	s.numbers = readSet(s.numbers[:0], g.set())
	s.sig = s.tokens.sign(s.sig, s.numbers)
	return hashcodes.Distance(q.Signature, s.sig)
}

// open begins a block.
func (s *Searcher) open() { s.index.Open() }

// add takes in the row that comes next.
func (s *Searcher) add(numbers []uint32) {
	s.sig = s.tokens.sign(s.sig, numbers)
	s.index.Add(numbers, s.sig)
}

// addGroup takes in the row that comes next, of the new group of x, and returns the numbers of its tokens, to be read at
// once.
func (s *Searcher) addGroup(x *feed.Sentence) []uint32 {
	s.numbers = s.internTokens(s.numbers[:0], x)
	s.add(s.numbers)
	s.batch.rowAdded(s, len(s.numbers))
	return s.numbers
}

// addAgain takes in the row that comes next, of a group that is in its block already. A dead one has no tokens: nothing is
// near it.
func (s *Searcher) addAgain(g Group) {
	var numbers []uint32
	if g.isAlive() {
		numbers = s.groups.numbersOf(g)
	}
	s.add(numbers)
}

// drop drops the oldest block.
func (s *Searcher) drop() {
	s.index.Drop()
	if s.recoding != nil {
		s.recoding.drop()
	}
}

// renew begins with an index of no rows.
func (s *Searcher) renew() {
	closeIndex(s.index)
	s.index = s.coding.Engine(s.rows())
}

// bytes are those of the indexes, two of them while codes change.
func (s *Searcher) bytes() int64 { return s.index.Bytes() + s.recoding.bytes() }

// closeIndex ends an index that holds more than memory.
func closeIndex(x Index) {
	if c, ok := x.(io.Closer); ok {
		_ = c.Close() // what it held is gone either way
	}
}

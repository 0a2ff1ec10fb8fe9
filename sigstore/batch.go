package sigstore

import "refrain/feed"

// batch holds the answers of the index to sentences that are looked up next, found together because an engine that
// scans reads its memory once for many queries. What is added after the question is compared one by one.
type batch struct {
	expected []*feed.Sentence
	next     int // the first that was not looked up

	// The question: expected[begin:end], asked after so many removals of groups.
	begin, end int
	removals   int
	queries    []Query
	prepared   []prepared  // of each query, for its insertion
	groups     []feed.Hash // of the sentences
	fresh      []fresh     // added since
	sigs       []uint32    // of those
}

// fresh is a group made since the question.
type fresh struct {
	row  Row
	size int
}

// Expect says which sentences will be looked up next, in which order; some may be left out. It changes no answer:
// what was not expected is searched for by itself. An index that likes to be asked for several at once is asked for
// so many of them when the first is looked up.
func (s *Searcher) Expect(xs []*feed.Sentence) {
	s.touched += s.groups.touch(xs)
	if s.index.Batch() == 1 {
		xs = nil // those of before are not to be held either
	}
	s.batch.expected, s.batch.next, s.batch.end = xs, 0, 0
}

// search searches for the expected sentences from i on.
func (b *batch) search(s *Searcher, i int) {
	b.begin, b.end, b.removals = i, min(len(b.expected), i+s.index.Batch()), s.groups.removals()
	b.groups, b.fresh, b.sigs = b.groups[:0], b.fresh[:0], b.sigs[:0]
	for len(b.queries) < b.end-b.begin {
		b.queries, b.prepared = append(b.queries, s.tokens.newQuery()), append(b.prepared, prepared{})
	}
	for n, x := range b.expected[b.begin:b.end] {
		b.groups = append(b.groups, x.Group)
		s.prepare(&b.queries[n], x)
		b.swap(s, n)
	}
	s.index.Search(b.queries[:b.end-b.begin])
}

// swap exchanges what is prepared of a query for what the searcher has at hand.
func (b *batch) swap(s *Searcher, i int) { s.prepared, b.prepared[i] = b.prepared[i], s.prepared }

// answer is the answer to x, nil if x was not expected.
func (b *batch) answer(s *Searcher, x *feed.Sentence) *Query {
	i := b.next
	for i < len(b.expected) && b.expected[i] != x {
		i++
	}
	if i == len(b.expected) {
		return nil
	}
	if i >= b.end || b.removals != s.groups.removals() {
		b.search(s, i)
	}
	b.next = i + 1
	q := &b.queries[i-b.begin]
	if b.groups[i-b.begin] != x.Group {
		return nil // it has changed since
	}
	b.swap(s, i-b.begin)
	b.addFresh(s, q, x)
	return q
}

// addFresh adds what was made since the question. Tokens that no row held may have got numbers meanwhile.
func (b *batch) addFresh(s *Searcher, q *Query, x *feed.Sentence) {
	bounds, words, before := s.coding.Bounds.For(q.Size), len(q.Signature), len(q.Hits)
	for i := range b.fresh {
		if q.MayMatch(bounds, b.fresh[i].size, b.sigs[i*words:(i+1)*words]) {
			q.Hits = append(q.Hits, b.fresh[i].row)
		}
	}
	if len(q.Hits) > before {
		hits, incomplete := q.Hits, q.Cut
		s.prepare(q, x)
		q.Hits, q.Cut = hits, incomplete
	}
}

// rowAdded notes that the row that comes next is of a group that the questions did not know.
func (b *batch) rowAdded(s *Searcher, size int) {
	if b.next >= b.end || b.removals != s.groups.removals() {
		return
	}
	b.fresh = append(b.fresh, fresh{s.blocks.next(), size})
	b.sigs = append(b.sigs, s.sig...)
}

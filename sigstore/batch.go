package sigstore

import (
	"refrain/feed"
	"refrain/hashcodes"
)

// batch holds the answers of the index to sentences that are looked up next, found together because an engine that
// scans reads its memory once for many queries. What is born after the question is compared one by one.
type batch struct {
	expected []*feed.Sentence
	queries  []Query
	next     int // the first that was not looked up
	epoch    int // of the window when it was asked
	fresh    []fresh
	sigs     []uint32
}

// fresh is a group born since.
type fresh struct {
	row  Row
	size int
}

// Batch is the number of sentences that Expect should be told of at once.
func (w *Window) Batch() int { return w.index.Batch() }

// Expect says which sentences will be looked up next, in which order. It changes no answer: what was not expected, or
// has been overtaken by expiry, is searched for by itself. x may be left out. The sentences must stay as they are.
func (w *Window) Expect(xs []*feed.Sentence) {
	b := &w.batch
	b.expected, b.next, b.epoch = xs, 0, w.epoch
	b.fresh, b.sigs = b.fresh[:0], b.sigs[:0]
	for len(b.queries) < len(xs) {
		b.queries = append(b.queries, Query{Signature: w.tokens.blank()})
	}
	for i, x := range xs {
		w.prepare(&b.queries[i], x.Tokens)
	}
	w.index.Search(b.queries[:len(xs)])
}

// answer is the answer to x, nil if there is none that still holds.
func (b *batch) answer(w *Window, x *feed.Sentence) *Query {
	for i := b.next; i < len(b.expected) && b.epoch == w.epoch; i++ {
		if b.expected[i] != x {
			continue
		}
		b.next = i + 1
		q := &b.queries[i]
		b.addFresh(w, q, x)
		return q
	}
	return nil
}

// addFresh adds what was born since the question. Then tokens that no row held may have got numbers.
func (b *batch) addFresh(w *Window, q *Query, x *feed.Sentence) {
	s, words, before := w.cfg.Bounds.For(q.Size), len(q.Signature), len(q.Hits)
	for i := range b.fresh {
		m := b.fresh[i].size - s.Min
		if m < 0 || m >= len(s.Radius) {
			continue
		}
		if hashcodes.Distance(q.Signature, b.sigs[i*words:(i+1)*words]) <= int(s.Radius[m]) {
			q.Hits = append(q.Hits, b.fresh[i].row)
		}
	}
	if len(q.Hits) > before {
		hits := q.Hits
		w.prepare(q, x.Tokens)
		q.Hits = hits
	}
}

// born notes a group that the questions did not know.
func (b *batch) born(w *Window, g Group, size int) {
	if b.next == len(b.expected) || b.epoch != w.epoch {
		return
	}
	last := w.dropped + uint32(len(w.blocks)-1)
	b.fresh = append(b.fresh, fresh{Row{last, g.n}, size})
	b.sigs = append(b.sigs, w.sig...)
}

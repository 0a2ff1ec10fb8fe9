package backfill

import (
	"refrain/feed"
	"refrain/text"
)

// batch is some posts on their way: all of the run-in, or none.
type batch struct {
	posts       []feed.Post
	raws        []string // the posts as they came in
	runIn       bool
	redelivered int

	sentences []feed.Sentence
	firsts    []int // of each post, in sentences, and behind the last
	tokens    []int // of each post, repeats counted
	tooShort  int
	split     chan struct{} // filled when a splitter is done with it

	repeats []bool       // by sentence: it repeats something
	matches []feed.Match // the last ones that were found, and the numbers of their sentences
	numbers []int64
}

// cut cuts the posts into sentences.
func (b *batch) cut(s *text.Splitter, minTokens int) {
	b.sentences, b.firsts, b.tokens, b.tooShort = b.sentences[:0], b.firsts[:0], b.tokens[:0], 0
	for i := range b.posts {
		var short int
		b.firsts = append(b.firsts, len(b.sentences))
		b.sentences, short = s.Sentences(b.sentences, &b.posts[i], minTokens)
		b.tokens = append(b.tokens, s.Tokens())
		b.tooShort += short
	}
	b.firsts = append(b.firsts, len(b.sentences))
}

// scratch is what a worker uses again for the next slice: these may be many, and short.
type scratch struct {
	splitters []text.Splitter // each for a goroutine
	batches   []*batch
}

func newScratch(splitters int) *scratch {
	s := &scratch{splitters: make([]text.Splitter, splitters)}
	for range 2*splitters + 2 {
		s.batches = append(s.batches, &batch{})
	}
	return s
}

// maxBatchBytes ends a batch early: posts may be large.
const maxBatchBytes = 1 << 20

// postReader makes batches of what a merger yields. What comes more than once is left out.
type postReader struct {
	merger postMerger
	max    int       // posts of a batch
	start  feed.Time // of the slice

	before feed.Post // the last one that was added
	some   bool      // there is one
	next   feed.Post
	raw    string
	ahead  bool // next has not been added yet
}

// fill fills a batch, and reports whether there was anything.
func (r *postReader) fill(b *batch) (bool, error) {
	b.posts, b.raws, b.redelivered = b.posts[:0], b.raws[:0], 0
	for size := 0; len(b.posts) < r.max && size < maxBatchBytes; r.ahead = false {
		if more, err := r.peek(); err != nil || !more {
			return !b.isEmpty(), err
		}
		runIn := r.next.Time < r.start
		if !b.isEmpty() && runIn != b.runIn {
			return true, nil
		}
		b.runIn = runIn
		size += r.addTo(b)
	}
	return !b.isEmpty(), nil
}

func (b *batch) isEmpty() bool { return len(b.posts)+b.redelivered == 0 }

// peek reads the next post, if there is one, unless it has been read.
func (r *postReader) peek() (more bool, err error) {
	if !r.ahead {
		r.next, r.raw, r.ahead, err = r.merger.next()
	}
	return r.ahead, err
}

// addTo adds the next post to a batch, and returns its size.
func (r *postReader) addTo(b *batch) (size int) {
	if r.some && isRedelivery(&r.next, &r.before) {
		b.redelivered++
		return 0
	}
	r.before, r.some = r.next, true
	b.posts, b.raws = append(b.posts, r.next), append(b.raws, r.raw)
	return len(r.next.Text) + len(r.raw)
}

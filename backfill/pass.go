package backfill

import (
	"bytes"
	"context"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"refrain/detector"
	"refrain/feed"
	"refrain/text"
)

// pass goes once over the run-in and the slice: one goroutine merges, some cut posts into sentences, one looks them up, one
// writes. A fixed number of batches goes round.
//
//	free → read ─┬→ work → splitters ─┐
//	  ↑          └→ order ────────────┴→ detect → found → write ─┐
//	  └──────────────────────────────────────────────────────────┘
type pass struct {
	*job
	last   bool // of the slice's passes
	window *window

	free, work, order chan *batch
	found             chan found
}

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

	repeats []bool // by sentence: it repeats something
}

// found is some of the matches of a batch.
type found struct {
	matches   []feed.Match
	sentences []int64 // of each match, by its number in the slice
	done      *batch  // set with the last of them
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

func (j *job) pass(ctx context.Context, column int) error {
	window, err := newWindow(&j.cfg, column)
	if err != nil {
		return err
	}
	p := &pass{job: j, last: column == j.cfg.Columns-1, window: window}
	n := len(j.batches)
	p.free, p.work, p.order, p.found = make(chan *batch, n), make(chan *batch, n), make(chan *batch, n), make(chan found, n)
	for _, b := range j.batches {
		b.split = make(chan struct{}, 1) // one of before may be full, after an error
		p.free <- b
	}
	j.events.beginPass(column)
	defer j.release.drop(p)
	eg, working := errgroup.WithContext(ctx)
	eg.Go(func() error { return p.read(working) })
	for i := range j.splitters {
		eg.Go(func() error { return p.splitAll(&j.splitters[i]) })
	}
	eg.Go(func() error { return p.detect(working) })
	eg.Go(func() error { return p.write(working) })
	if err := eg.Wait(); err != nil {
		return err
	}
	p.count()
	return j.events.endPass()
}

// read merges the runs into batches. What comes more than once is left out.
func (p *pass) read(ctx context.Context) error {
	defer close(p.work)
	defer close(p.order)
	m, err := newMerger(p.runs, p.report.Start-p.cfg.span(), p.report.End)
	if err != nil {
		return err
	}
	r := postReader{merger: m, start: p.report.Start, batch: p.cfg.Batch}
	for {
		select {
		case b := <-p.free:
			more, err := r.fill(b)
			if err != nil || !more {
				return err
			}
			p.work <- b
			p.order <- b
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// postReader makes batches of what a merger yields.
type postReader struct {
	merger *merger
	batch  int       // posts
	start  feed.Time // of the slice
	before feed.Post
	some   bool // there was one before
	next   feed.Post
	raw    string
	ahead  bool // next is the next one, left over from the last batch
}

// fill fills a batch, and reports whether there was anything.
func (r *postReader) fill(b *batch) (bool, error) {
	b.posts, b.raws, b.redelivered = b.posts[:0], b.raws[:0], 0
	for size := 0; len(b.posts) < r.batch && size < maxBatchBytes; r.ahead = false {
		if !r.ahead {
			var err error
			if r.next, r.raw, r.ahead, err = r.merger.next(); err != nil {
				return false, err
			}
			if !r.ahead {
				break
			}
		}
		runIn := r.next.Time < r.start
		if len(b.posts)+b.redelivered > 0 && runIn != b.runIn {
			return true, nil
		}
		b.runIn = runIn
		if r.some && isRedelivery(&r.next, &r.before) {
			b.redelivered++
			continue
		}
		r.before, r.some = r.next, true
		b.posts, b.raws = append(b.posts, r.next), append(b.raws, r.raw)
		size += len(r.next.Text) + len(r.raw)
	}
	return len(b.posts)+b.redelivered > 0, nil
}

// splitAll cuts posts into sentences until there are no more.
func (p *pass) splitAll(s *text.Splitter) error {
	for b := range p.work {
		b.sentences, b.firsts, b.tokens, b.tooShort = b.sentences[:0], b.firsts[:0], b.tokens[:0], 0
		for i := range b.posts {
			var short int
			b.firsts = append(b.firsts, len(b.sentences))
			b.sentences, short = s.Sentences(b.sentences, &b.posts[i], p.cfg.Window.MinTokens)
			b.tokens = append(b.tokens, s.Tokens())
			b.tooShort += short
		}
		b.firsts = append(b.firsts, len(b.sentences))
		b.split <- struct{}{}
	}
	return nil
}

// lookupsAtOnce is how many sentences are looked up together, and maxMatches how many matches are handed on at once, about.
const (
	lookupsAtOnce = 64
	maxMatches    = 1024
)

// detect takes the run-in into the window, and looks up the slice.
func (p *pass) detect(ctx context.Context) error {
	defer close(p.found)
	number := int64(0) // of a sentence in the slice
	for b := range p.order {
		<-b.split
		var err error
		if b.runIn {
			p.window.insert(b.sentences)
		} else {
			err = p.lookUp(ctx, b, number)
			number += int64(len(b.sentences))
		}
		if err != nil {
			return err
		}
		if len(b.posts) > 0 {
			p.advance(b.posts[len(b.posts)-1].Time)
		}
		if err := p.send(ctx, found{done: b}); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) send(ctx context.Context, f found) error {
	select {
	case p.found <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lookUp looks the sentences of a batch up, the first of which has a number.
func (p *pass) lookUp(ctx context.Context, b *batch, number int64) error {
	b.repeats = b.repeats[:0]
	var f found
	for some := range slices.Chunk(b.sentences, lookupsAtOnce) {
		p.window.detect(some, func(i int, matches []feed.Match) {
			n := number + int64(len(b.repeats))
			b.repeats = append(b.repeats, p.repeats(n, len(matches) > 0))
			f.add(n, matches)
		})
		if len(f.matches) < maxMatches {
			continue
		}
		if err := p.send(ctx, f); err != nil {
			return err
		}
		f = found{}
	}
	return p.send(ctx, f)
}

// add adds the matches of a sentence in the order of the groups that it repeats.
func (f *found) add(sentence int64, matches []feed.Match) {
	slices.SortFunc(matches, func(a, b feed.Match) int { return bytes.Compare(a.Group[:], b.Group[:]) })
	f.matches = append(f.matches, matches...)
	for range matches {
		f.sentences = append(f.sentences, sentence)
	}
}

// repeats reports whether a sentence repeats something, in this pass or in one before, and remembers it for the next.
func (p *pass) repeats(sentence int64, now bool) bool {
	if p.cfg.Columns == 1 || !p.cfg.KeepFirst {
		return now
	}
	if now {
		p.repeated.set(sentence)
	}
	return now || p.repeated.has(sentence)
}

// advance moves the clock on.
func (p *pass) advance(to feed.Time) {
	bytes := p.window.advance(to)
	p.report.WindowBytes = max(p.report.WindowBytes, bytes)
	p.release.holds(p, bytes)
}

// write writes events and, in the last pass, the posts that repeat nothing.
func (p *pass) write(ctx context.Context) error {
	for f := range p.found {
		for i := range f.matches {
			if err := p.events.write(f.sentences[i], &f.matches[i]); err != nil {
				return err
			}
		}
		if f.done == nil {
			continue
		}
		if err := p.writePosts(f.done); err != nil {
			return err
		}
		p.countBatch(f.done)
		p.free <- f.done
	}
	return ctx.Err()
}

func (p *pass) writePosts(b *batch) error {
	if p.posts == nil || !p.last || b.runIn {
		return nil
	}
	var line []byte
	for i := range b.posts {
		if b.repeatsBy(i, p.cfg.Coverage) {
			continue
		}
		line = append(append(line[:0], b.raws[i]...), '\n')
		if err := p.posts.write(line, 1); err != nil {
			return err
		}
	}
	return nil
}

// repeatsBy reports whether sentences of post i that repeat something have at least such a share of its tokens.
func (b *batch) repeatsBy(i int, coverage text.Threshold) bool {
	covered := 0
	for n := b.firsts[i]; n < b.firsts[i+1]; n++ {
		if b.repeats[n] {
			covered += b.tokensOf(i, n)
		}
	}
	return covered > 0 && int64(covered)*int64(coverage.Den) >= int64(b.tokens[i])*int64(coverage.Num)
}

// tokensOf is the number of tokens of sentence n of post i. Its coverage is their share of the post's, as a float32, which of
// fewer than 2²³ is exact enough to tell them.
func (b *batch) tokensOf(i, n int) int {
	return int(math.Round(float64(b.sentences[n].Coverage) * float64(b.tokens[i])))
}

// countBatch counts what all passes have in common by the last one.
func (p *pass) countBatch(b *batch) {
	posts := len(b.posts) + b.redelivered
	if !b.runIn {
		p.progress.posts(posts)
	}
	switch r := &p.report; {
	case !p.last:
	case b.runIn:
		r.RunIn += int64(posts)
	default:
		r.Posts += int64(posts)
		r.Redelivered += int64(b.redelivered)
		r.Sentences += int64(len(b.sentences))
		r.TooShort += int64(b.tooShort)
	}
}

// count counts what is each pass's own.
func (p *pass) count() {
	t := detector.Total(p.window.cells)
	p.report.Truncated += t.Truncated
	p.report.Forced += t.Forced + t.ForcedOccurrences
}

// window is the window of a pass: one cell or several, served side by side, each with a part of all groups.
type window struct {
	cells     []*detector.Partition
	first, of int // cell i has the groups of partition first + i of so many
	batch     []*feed.Sentence
	byCell    [][][]feed.Match // by cell and sentence, of several
}

func newWindow(cfg *Config, column int) (*window, error) {
	w := &window{first: column * cfg.Partitions, of: cfg.Columns * cfg.Partitions, byCell: make([][][]feed.Match, cfg.Partitions)}
	one := cfg.Window
	one.Budget /= int64(cfg.Partitions * cfg.slicesAtOnce())
	for range cfg.Partitions {
		p, err := detector.NewPartition(one)
		if err != nil {
			return nil, err
		}
		w.cells = append(w.cells, p)
	}
	return w, nil
}

// owns reports whether a cell has the group of x.
func (w *window) owns(cell int, x *feed.Sentence) bool {
	return w.of == 1 || x.Group.Partition(w.of) == w.first+cell
}

// insert takes sentences in without looking them up.
func (w *window) insert(sentences []feed.Sentence) {
	w.each(func(cell int) {
		for i := range sentences {
			if w.owns(cell, &sentences[i]) {
				w.cells[cell].Insert(&sentences[i])
			}
		}
	})
}

// detect looks each sentence up, takes it in, and visits its matches.
func (w *window) detect(sentences []feed.Sentence, visit func(i int, matches []feed.Match)) {
	w.batch = w.batch[:0]
	for i := range sentences {
		w.batch = append(w.batch, &sentences[i])
	}
	w.each(func(cell int) { w.byCell[cell] = w.lookUp(cell, w.byCell[cell][:0]) })
	for i := range w.batch {
		all := w.byCell[0][i]
		for _, more := range w.byCell[1:] {
			all = append(all, more[i]...)
		}
		visit(i, all)
	}
}

func (w *window) lookUp(cell int, found [][]feed.Match) [][]feed.Match {
	p := w.cells[cell]
	p.Expect(w.batch)
	for _, x := range w.batch {
		found = append(found, p.LookupNew(nil, x))
		if w.owns(cell, x) {
			p.Insert(x)
		}
	}
	return found
}

// each calls f for every cell, side by side where they are several.
func (w *window) each(f func(cell int)) {
	if len(w.cells) == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	for cell := range w.cells {
		wg.Go(func() { f(cell) })
	}
	wg.Wait()
}

// advance moves the clock of all cells on, and returns the bytes that they hold.
func (w *window) advance(to feed.Time) int64 {
	w.each(func(cell int) { w.cells[cell].Advance(to) })
	return detector.Total(w.cells).Bytes
}

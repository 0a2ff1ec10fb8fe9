package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"refrain/detector"
	"refrain/feed"
	"refrain/ingest/file"
	"refrain/internal/memory"
	"refrain/internal/terminal"
	"refrain/internal/units"
	"refrain/split"
	"refrain/text"
)

// detection is the route of a post without topics: read, decode and split, detect, write, joined by queues.
//
// A fixed number of parts goes round, and every queue has room for all of them: so what is ahead waits for what is
// behind, and nothing is allocated anew. Reading, detecting and writing are a goroutine each. Decoding and splitting,
// most of the work where the window is small, are done by several, each with a part of its own; the detector takes the
// parts in the order in which they were read.
//
//	free → read ─┬→ work → workers ─┐
//	  ↑          └→ order ──────────┴→ detect → found → write ─┐
//	  └────────────────────────────────────────────────────────┘
type detection struct {
	main      *Main
	src       *file.Source
	windows   *detector.Partitions
	minTokens int
	threshold text.Threshold
	span      time.Duration
	out       outputFlags
	status    *terminal.Status // on stderr
	counts    detectionCounts

	free, work, order, found chan *part
	stop                     context.CancelFunc // ends the reading
	refused                  error              // the record that a strict reading ends at
}

type detectionCounts struct {
	posts, rejected, changed     int
	sentences, tooShort, repeats int
	events                       int
}

// part is one batch on its way.
type part struct {
	file.Part
	sentences []feed.Sentence
	tooShort  int
	matches   []feed.Match
	extra     bool // only matches: it does not go round

	before, settled chan struct{} // closed when the part before this one, and this one, is settled
	err             error         // of Settle
	split           chan struct{} // filled when a worker is done with it
}

// maxWorkers bounds the parts on their way, and with them the memory: more would wait for the detector.
const maxWorkers = 8

func (d *detection) run(ctx context.Context) error {
	begin := time.Now()
	d.status = terminal.NewStatus(d.main.Stderr, terminal.Detect(d.main.Stderr))
	out := d.newOutput()
	progress := terminal.NewProgress(d.status, d.src.Size())
	// What ends the reading, an error or a signal, ends only that: what was read before goes all the way.
	g, working := errgroup.WithContext(context.WithoutCancel(ctx))
	reading, stop := context.WithCancel(ctx)
	defer stop()
	d.stop = stop
	workers := min(runtime.GOMAXPROCS(0), maxWorkers)
	d.makeParts(2*workers + 2)
	var ended error
	g.Go(func() error { ended = d.read(reading, working); return nil })
	for range workers {
		g.Go(func() error { d.splitParts(working); return nil })
	}
	g.Go(func() error { return d.detect(working) })
	g.Go(func() error { return d.write(out, progress) })
	err := errors.Join(g.Wait(), cmp.Or(d.refused, ended))
	if ctx.Err() != nil {
		err = errInterrupted
	}
	progress.Done()
	err = errors.Join(err, out.close())
	if c := &d.counts; err == nil && c.posts == 0 && c.rejected > 0 {
		err = errNoPosts
	}
	d.windows.Settle()
	d.summarise(time.Since(begin))
	return err
}

func (d *detection) makeParts(n int) {
	for _, queue := range []*chan *part{&d.free, &d.work, &d.order, &d.found} {
		*queue = make(chan *part, n)
	}
	for range n {
		d.free <- &part{split: make(chan struct{}, 1)}
	}
}

// errNoPosts: most likely the file is another's.
var errNoPosts = errors.New("not one line is a post; if its fields have other names, say so: --map text=body,id=uri")

var errInterrupted = fmt.Errorf("%w; the events so far are out", errStopped)

// read fills free parts from the source until ctx ends, or the work behind it.
func (d *detection) read(ctx, working context.Context) error {
	defer close(d.work)
	defer close(d.order)
	before := make(chan struct{})
	close(before)
	for {
		select {
		case p := <-d.free:
			if err := d.src.Read(ctx, &p.Part); err != nil {
				return ignoreEOF(err)
			}
			p.before, p.settled = before, make(chan struct{})
			before = p.settled
			d.work <- p
			d.order <- p
		case <-working.Done():
			return nil // its error is the reason
		}
	}
}

// splitParts decodes parts and cuts their posts into sentences.
func (d *detection) splitParts(ctx context.Context) {
	decoder := d.src.NewDecoder()
	var s text.Splitter
	for p := range d.work {
		decoder.Decode(&p.Part)
		<-p.before
		p.err = d.src.Settle(ctx, &p.Part)
		close(p.settled)
		p.sentences, p.tooShort = p.sentences[:0], 0
		for i := range p.Batch.Posts {
			var short int
			p.sentences, short = s.Sentences(p.sentences, &p.Batch.Posts[i], d.minTokens)
			p.tooShort += short
		}
		p.split <- struct{}{}
	}
}

// Sentences looked up at once, and matches handed on at once: one sentence may repeat very many texts.
const (
	fewSentences = 64
	manyMatches  = 1024
)

// detect looks the sentences of each part up and hands the matches on, in several parts where they are many.
func (d *detection) detect(ctx context.Context) error {
	defer close(d.found)
	var clock split.Clock
	var release memory.Keeper
	for p := range d.order {
		<-p.split
		if p.err != nil {
			d.refused = p.err // and the parts behind it are empty
			d.stop()
		}
		d.count(p)
		p.matches = p.matches[:0]
		for some := range slices.Chunk(p.sentences, fewSentences) {
			var repeats int
			before := len(p.matches)
			p.matches, repeats = d.windows.Detect(p.matches, some)
			d.counts.repeats += repeats
			d.counts.events += len(p.matches) - before
			if len(p.matches) < manyMatches {
				continue
			}
			select {
			case d.found <- &part{matches: p.matches, extra: true}:
				p.matches = nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		d.advance(&clock, &release, p.Batch.Posts)
		select {
		case d.found <- p: // extra parts may have filled it
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (d *detection) count(p *part) {
	c := &d.counts
	c.sentences += len(p.sentences)
	c.tooShort += p.tooShort
	c.posts += len(p.Batch.Posts)
	c.rejected += len(p.Batch.Rejected)
	c.changed += len(p.Batch.Notes)
}

// write writes the matches of parts and sets them free.
func (d *detection) write(out output, progress *terminal.Progress) error {
	posts := int64(0)
	for p := range d.found {
		d.main.complain(&p.Batch)
		if err := out.write(p.matches); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		posts += int64(len(p.Batch.Posts))
		progress.Update(d.src.BytesRead(), posts)
		if !p.extra {
			d.free <- p
		}
	}
	return nil
}

// advance moves the clock on by the posts of a batch.
func (d *detection) advance(clock *split.Clock, release *memory.Keeper, posts []feed.Post) {
	for i := range posts {
		clock.Add(posts[i].Time)
	}
	if w, ok := clock.Time(); ok {
		d.windows.Advance(w)
		release.Holds(windowTotals(d.windows.Detectors()).bytes)
	}
}

// summarise says what was done, on stderr.
func (d *detection) summarise(took time.Duration) {
	c, s := &d.counts, windowTotals(d.windows.Detectors())
	w := d.main.Stderr
	fmt.Fprintf(w, "%d %s in %v (%.0f posts/s), %d rejected, %d changed\n", c.posts, terminal.Noun(c.posts, "post"),
		took.Round(time.Millisecond), float64(c.posts)/took.Seconds(), c.rejected, c.changed)
	fmt.Fprintf(w, "%d %s compared, %d too short, %d delivered again, %d late\n", c.sentences,
		terminal.Noun(c.sentences, "sentence"), c.tooShort, c.repeats, s.late)
	fmt.Fprintf(w, "%d %s; the window holds %d %s, %d %s, %s\n", c.events, terminal.Noun(c.events, "event"), s.groups,
		terminal.Noun(s.groups, "text"), s.occurrences, terminal.Noun(s.occurrences, "occurrence"), units.FormatBytes(s.bytes))
	if s.forced > 0 {
		fmt.Fprintf(w, "the budget dropped %d %s before their time: %s, events may be missing\n", s.forced,
			terminal.Noun(int(s.forced), "text"), reach(s.span, d.span))
	}
	if s.truncated > 0 {
		fmt.Fprintf(w, "%d sentences repeat more than %s texts: their further events are left out\n", s.truncated, "--max-matches")
	}
}

// reach says how far back a window of a budget reached at the end.
func reach(kept, span time.Duration) string {
	if kept < span {
		return fmt.Sprintf("the window reached back only %v at the end", kept)
	}
	return fmt.Sprintf("though the window held its whole span of %v again at the end", span)
}

// totals adds up the windows of all partitions.
type totals struct {
	groups, occurrences            int
	bytes, forced, late, truncated int64
	candidates, similar            int64
	span                           time.Duration
}

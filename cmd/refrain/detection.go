package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"refrain/detector"
	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/memory"
	"refrain/internal/terminal"
	"refrain/internal/units"
	"refrain/split"
	"refrain/text"
)

// detection is the route of a post without topics: read, split, detect, write, each in a goroutine of its own,
// joined by short queues that keep the order.
type detection struct {
	main      *Main
	src       *ingest.File
	windows   *detector.Partitions
	minTokens int
	threshold text.Threshold
	out       outputFlags
	status    *terminal.Status // on stderr
	counts    detectionCounts
}

type detectionCounts struct {
	posts, rejected, changed     int
	sentences, tooShort, repeats int
	events                       int
}

// part is one batch on its way.
type part struct {
	batch     ingest.Batch
	sentences []feed.Sentence
	matches   []feed.Match
}

const queue = 2

func (d *detection) run(ctx context.Context) error {
	begin := time.Now()
	d.status = terminal.NewStatus(d.main.Stderr, terminal.Detect(d.main.Stderr))
	out := d.newOutput()
	progress, posts := terminal.NewProgress(d.status, d.src.Size()), int64(0)
	// What ends the reading, an error or a signal, ends only that: what was read before goes all the way.
	g, working := errgroup.WithContext(context.WithoutCancel(ctx))
	var ended error
	read, splits, found := make(chan *part, queue), make(chan *part, queue), make(chan *part, queue)
	g.Go(func() error { defer close(read); ended = d.read(ctx, working, read); return nil })
	g.Go(func() error { defer close(splits); return d.split(working, read, splits) })
	g.Go(func() error { defer close(found); return d.detect(working, splits, found) })
	g.Go(func() error {
		for p := range found {
			d.main.complain(&p.batch)
			if err := out.write(p.matches); err != nil {
				return fmt.Errorf("write events: %w", err)
			}
			posts += int64(len(p.batch.Posts))
			progress.Update(d.src.BytesRead(), posts)
		}
		return nil
	})
	err := errors.Join(g.Wait(), ended)
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

// errNoPosts: most likely the file is another's.
var errNoPosts = errors.New("not one line is a post; if its fields have other names, say so: --map text=body,id=uri")

var errInterrupted = errors.New("interrupted before the end of the input; the events so far are out")

// read puts the batches of the source on the queue until ctx ends, or the work behind it.
func (d *detection) read(ctx, working context.Context, to chan<- *part) error {
	for {
		b, err := d.src.Next(ctx)
		if !b.Empty() {
			if !send(working, to, &part{batch: b}) {
				return nil // its error is the reason
			}
		}
		if err != nil {
			return ignoreEOF(err)
		}
	}
}

func send(ctx context.Context, to chan<- *part, p *part) bool {
	select {
	case to <- p:
		return true
	case <-ctx.Done():
		return false
	}
}

// split cuts the posts of each part into sentences.
func (d *detection) split(ctx context.Context, from <-chan *part, to chan<- *part) error {
	var s text.Splitter
	for p := range from {
		for i := range p.batch.Posts {
			var short int
			p.sentences, short = s.Sentences(p.sentences, &p.batch.Posts[i], d.minTokens)
			d.counts.tooShort += short
		}
		d.counts.sentences += len(p.sentences)
		if !send(ctx, to, p) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// Sentences looked up at once, and matches handed on at once: one sentence may repeat very many texts.
const (
	fewSentences = 16
	manyMatches  = 4096
)

// detect looks the sentences of each part up and hands the matches on, in several parts where they are many.
func (d *detection) detect(ctx context.Context, from <-chan *part, to chan<- *part) error {
	var clock split.Clock
	var release memory.Keeper
	for p := range from {
		for some := range slices.Chunk(p.sentences, fewSentences) {
			var repeats int
			before := len(p.matches)
			p.matches, repeats = d.windows.Detect(p.matches, some)
			d.counts.repeats += repeats
			d.counts.events += len(p.matches) - before
			if len(p.matches) >= manyMatches {
				if !send(ctx, to, &part{matches: p.matches}) {
					return context.Cause(ctx)
				}
				p.matches = nil
			}
		}
		d.advance(&clock, &release, p.batch.Posts)
		d.counts.posts += len(p.batch.Posts)
		d.counts.rejected += len(p.batch.Rejected)
		d.counts.changed += len(p.batch.Notes)
		p.sentences = nil
		if !send(ctx, to, p) {
			return context.Cause(ctx)
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
		fmt.Fprintf(w, "the budget dropped %d texts before their time: the window reached back only %v at the end, events may be missing\n", s.forced, s.span)
	}
	if s.truncated > 0 {
		fmt.Fprintf(w, "%d sentences repeat more than %s texts: their further events are left out\n", s.truncated, "--max-matches")
	}
}

// totals adds up the windows of all partitions.
type totals struct {
	groups, occurrences            int
	bytes, forced, late, truncated int64
	span                           time.Duration
}

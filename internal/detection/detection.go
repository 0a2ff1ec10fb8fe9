// Package detection is the route of a post without topics: read, decode and split, detect, write, joined by queues. `refrain
// detect` runs it; each step is a function of its own, so that it can be measured alone.
//
// A fixed number of parts goes round, and every queue has room for all of them: so what is ahead waits for what is
// behind, and nothing is allocated anew. Reading, detecting and writing are a goroutine each. Decoding and splitting,
// most of the work where the window is small, are done by several, each with a part of its own; the detector takes the
// parts in the order in which they were read.
//
//	free → read ─┬→ work → workers ─┐
//	  ↑          └→ order ──────────┴→ detect → found → write ─┐
//	  └────────────────────────────────────────────────────────┘
package detection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"refrain/detector"
	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/file"
	"refrain/internal/memory"
)

// Config says where posts come from and where what is found goes. Note and Write are called by one goroutine.
type Config struct {
	Source    *file.Source
	Windows   *detector.Partitions
	MinTokens int
	Note      func(*ingest.Batch) // told of each batch, for what was rejected or changed in it
	Write     func([]feed.Match) error
	Progress  func(bytes, posts int64) // read so far
}

// Counts are what a route has done.
type Counts struct {
	Posts, Rejected, Changed, Skipped int
	Sentences, TooShort, Redelivered  int // Repeats: sentences delivered again
	Events                            int
}

// route is one run.
type route struct {
	cfg    Config
	counts Counts

	free, work, order, found chan *passage
	stop                     context.CancelFunc // ends the reading
	refused                  error              // the record that a strict reading ends at
}

// passage is a part on its way round.
type passage struct {
	Part
	extra bool // only matches: it does not go round

	before, stamped chan struct{} // closed when the part before this one, and this one, is stamped
	err             error         // of stamping
	split           chan struct{} // filled when a worker is done with it
}

// maxWorkers bounds the parts on their way, and with them the memory: more would wait for the detector.
const maxWorkers = 8

// Run carries all posts of the source. What ends the reading, an error or ctx, ends only that: what was read before goes
// all the way.
func Run(ctx context.Context, cfg Config) (Counts, error) {
	r := &route{cfg: cfg}
	g, working := errgroup.WithContext(context.WithoutCancel(ctx))
	reading, stop := context.WithCancel(ctx)
	defer stop()
	r.stop = stop
	workers := min(runtime.GOMAXPROCS(0), maxWorkers)
	r.makeParts(2*workers + 2)
	var ended error
	g.Go(func() error { ended = r.read(reading, working); return nil })
	for range workers {
		g.Go(func() error { r.split(working); return nil })
	}
	g.Go(func() error { return r.detect(working) })
	g.Go(r.write)
	err := errors.Join(g.Wait(), cmp.Or(r.refused, ended))
	cfg.Windows.UpdateViews()
	return r.counts, err
}

func (r *route) makeParts(n int) {
	for _, queue := range []*chan *passage{&r.free, &r.work, &r.order, &r.found} {
		*queue = make(chan *passage, n)
	}
	for range n {
		r.free <- &passage{split: make(chan struct{}, 1)}
	}
}

// read fills free parts from the source until ctx ends, or the work behind it.
func (r *route) read(ctx, working context.Context) error {
	defer close(r.work)
	defer close(r.order)
	before := make(chan struct{})
	close(before)
	for {
		select {
		case p := <-r.free:
			if err := r.cfg.Source.Read(ctx, &p.Part.Part); err != nil {
				return ignoreEOF(err)
			}
			p.before, p.stamped = before, make(chan struct{})
			before = p.stamped
			r.work <- p
			r.order <- p
		case <-working.Done():
			return nil // its error is the reason
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// split decodes parts and cuts their posts into sentences.
func (r *route) split(ctx context.Context) {
	s := NewSplitter(r.cfg.Source, r.cfg.MinTokens)
	for p := range r.work {
		s.Decode(&p.Part)
		<-p.before
		p.err = s.Stamp(ctx, &p.Part)
		close(p.stamped)
		s.Split(&p.Part)
		p.split <- struct{}{}
	}
}

// detect looks the sentences of each part up and hands the matches on, in several parts where they are many.
func (r *route) detect(ctx context.Context) error {
	defer close(r.found)
	d := Detector{Windows: r.cfg.Windows}
	var release memory.Keeper
	for p := range r.order {
		<-p.split
		if p.err != nil {
			r.refused = p.err // and the parts behind it are empty
			r.stop()
		}
		err := d.Detect(&p.Part, func(many []feed.Match) error { return r.pass(ctx, &passage{Part: Part{Matches: many}, extra: true}) })
		if err != nil {
			return err
		}
		r.count(&p.Part)
		if d.Advance(&p.Part) {
			release.Holds(detector.Total(r.cfg.Windows.All()).Bytes)
		}
		if err := r.pass(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// pass hands a part on to be written: extra ones may have filled the queue.
func (r *route) pass(ctx context.Context, p *passage) error {
	select {
	case r.found <- p:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *route) count(p *Part) {
	c := &r.counts
	c.Posts += len(p.Batch.Posts)
	c.Rejected += len(p.Batch.Rejected)
	c.Changed += len(p.Batch.Notes)
	c.Skipped += p.Batch.Skipped
	c.Sentences += len(p.Sentences)
	c.TooShort += p.TooShort
	c.Redelivered += p.Redelivered
	c.Events += p.Events
}

// write writes the matches of parts and sets them free.
func (r *route) write() error {
	posts := int64(0)
	for p := range r.found {
		r.cfg.Note(&p.Batch)
		if err := r.cfg.Write(p.Matches); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		posts += int64(len(p.Batch.Posts))
		r.cfg.Progress(r.cfg.Source.BytesRead(), posts)
		if !p.extra {
			r.free <- p
		}
	}
	return nil
}

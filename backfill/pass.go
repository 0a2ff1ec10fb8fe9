package backfill

import (
	"context"

	"golang.org/x/sync/errgroup"

	"refrain/detector"
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

func (j *job) pass(ctx context.Context, column int) error {
	p, err := j.newPass(column)
	if err != nil {
		return err
	}
	defer j.release.drop(p)
	defer p.window.release()
	if err := j.events.beginPass(); err != nil {
		return err
	}
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

func (j *job) newPass(column int) (*pass, error) {
	window, err := newWindow(&j.cfg, column)
	if err != nil {
		return nil, err
	}
	p := &pass{job: j, last: column == j.cfg.Columns-1, window: window}
	n := len(j.batches)
	p.free, p.work, p.order, p.found = make(chan *batch, n), make(chan *batch, n), make(chan *batch, n), make(chan found, n)
	for _, b := range j.batches {
		b.split = make(chan struct{}, 1) // one of before may be full, after an error
		p.free <- b
	}
	return p, nil
}

// read merges the posts into batches.
func (p *pass) read(ctx context.Context) error {
	defer close(p.work)
	defer close(p.order)
	m, err := mergePosts(p.sorted, p.report.Start-p.cfg.span(), p.cfg.start(p.number+1))
	if err != nil {
		return err
	}
	r := postReader{merger: m, start: p.report.Start, max: p.cfg.Batch}
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

// splitAll cuts posts into sentences until there are no more.
func (p *pass) splitAll(s *text.Splitter) error {
	for b := range p.work {
		b.cut(s, p.cfg.Window.MinTokens)
		b.split <- struct{}{}
	}
	return nil
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

package backfill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"refrain/ingest"
	"refrain/ingest/file"
)

// gathering reads an archive once: each file by one goroutine, its posts decoded and sorted by several.
//
//	free → read ─→ work → gatherers: decode, stamp in order, sort → runs
//	  ↑                      └────────────────────────────┐
//	  └───────────────────────────────────────────────────┘
type gathering struct {
	b         *backfill
	input     input
	gatherers []*gatherer
	letters   *output
	toLetters *ingest.DeadLetters
	runs      atomic.Int64 // that were begun
	bytes     int64        // of the files before the one that is read
	estimator estimator

	table, columns string // the first table, and what its columns are
}

// gatherer sorts posts into runs. It is for one goroutine.
type gatherer struct {
	g      *gathering
	sorter *sorter
	slices map[int64]int64 // posts by slice
}

// gather reads the files and writes the runs. What it found is on disk when it returns.
func (b *backfill) gather(ctx context.Context, files []File) (*input, error) {
	g := &gathering{b: b, input: input{Files: files, Slices: map[int64]int64{}}}
	if err := b.dir.makeRuns(); err != nil {
		return nil, err
	}
	for range b.cfg.Workers {
		g.gatherers = append(g.gatherers, &gatherer{g, newSorter(b.cfg.SortBytes / b.cfg.Workers), map[int64]int64{}})
	}
	defer func() { g.letters.abandon() }()
	for i := range files {
		if err := g.file(ctx, &files[i]); err != nil {
			return nil, err
		}
	}
	if err := g.end(ctx); err != nil {
		return nil, err
	}
	g.release()
	return &g.input, g.record()
}

// release gives what sorting took to the windows, or keeps the posts.
func (g *gathering) release() {
	if g.input.Runs == 0 {
		for _, w := range g.gatherers {
			g.b.inMemory = append(g.b.inMemory, w.sorter)
		}
		return
	}
	g.gatherers = nil
	debug.FreeOSMemory()
}

// record makes what was found durable, the names of the runs first: an input without one of its runs is found out.
func (g *gathering) record() error {
	if err := g.b.dir.sameContent(g.input.Files); err != nil {
		return err
	}
	return errors.Join(syncFolder(g.b.dir.runs()), g.b.dir.putInput(&g.input))
}

// end sorts what the sorters still hold, and writes it where there are runs already: posts that fit in memory stay there.
func (g *gathering) end(ctx context.Context) error {
	if g.input.Posts == 0 && g.input.Rejected+g.input.Skipped > 0 {
		return ErrNoPosts
	}
	last := (*gatherer).keep
	if g.runs.Load() > 0 {
		last = (*gatherer).spill
	}
	var eg errgroup.Group
	for _, w := range g.gatherers {
		eg.Go(func() error { return last(w) })
	}
	if err := eg.Wait(); err != nil {
		return err
	}
	for _, w := range g.gatherers {
		for slice, n := range w.slices {
			g.input.Slices[slice] += n
		}
	}
	g.estimate(int64(len(g.input.Slices)), true)
	return errors.Join(g.mergeRuns(ctx), g.endLetters())
}

func (g *gathering) endLetters() error {
	if g.letters == nil {
		return nil
	}
	err := g.letters.commit()
	g.input.Letters, g.letters = &g.letters.Output, nil
	return err
}

// orderedPart is a part of a file on its way round.
type orderedPart struct {
	file.Part
	before, stamped chan struct{} // closed when the part before this one, and this one, is stamped
}

// file gathers the posts of one file.
func (g *gathering) file(ctx context.Context, in *File) error {
	sum := xxh3.New128()
	src, err := file.Open(g.b.cfg.source(in.path, sum))
	if err != nil {
		return err
	}
	defer src.Close()
	if err := g.sameKind(in, src); err != nil {
		return err
	}
	if err := g.readAll(ctx, src); err != nil {
		return err
	}
	if err := errors.Join(in.sameSize(src.BytesRead()), g.sameColumns(in, src)); err != nil {
		return err
	}
	in.XXH3 = sumOf(sum)
	g.bytes += in.Bytes
	return nil
}

// source is how to read a file, whose bytes go to stored too.
func (c *Config) source(path string, stored io.Writer) file.Config {
	return file.Config{
		Path: path, Format: c.Format, RecordsAt: c.RecordsAt, Include: c.Include, Encoding: c.Encoding, Fields: c.Fields,
		SourceName: c.Source, Strict: c.Strict, BatchPosts: c.Batch, Records: c.KeepFirst, Stored: stored,
		OnRecognised: c.OnRecognised,
	}
}

// readAll has one goroutine read a file, and the gatherers sort its posts.
func (g *gathering) readAll(ctx context.Context, src *file.Source) error {
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	n := 2*len(g.gatherers) + 2
	free, work := make(chan *orderedPart, n), make(chan *orderedPart, n)
	for range n {
		free <- &orderedPart{}
	}
	var eg errgroup.Group
	eg.Go(func() error { return g.read(working, src, free, work) })
	for _, w := range g.gatherers {
		eg.Go(func() error { return w.work(working, stop, src, free, work) })
	}
	return eg.Wait()
}

// read fills free parts from the source.
func (g *gathering) read(ctx context.Context, src *file.Source, free <-chan *orderedPart, work chan<- *orderedPart) error {
	defer close(work)
	before := make(chan struct{})
	close(before)
	for {
		select {
		case p := <-free:
			if err := src.Read(ctx, &p.Part); err != nil {
				return whyEnded(ctx, err)
			}
			p.before, p.stamped = before, make(chan struct{})
			before = p.stamped
			work <- p
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// whyEnded is why reading has ended: nil at the end of the file, the error of a gatherer where one has stopped it.
func whyEnded(ctx context.Context, err error) error {
	if err = ignoreEOF(err); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// work decodes and sorts parts until there are no more. After an error the others are only let through, since whoever stamps
// a part waits for the one before it.
func (w *gatherer) work(
	ctx context.Context, stop context.CancelCauseFunc, src *file.Source, free chan<- *orderedPart, work <-chan *orderedPart,
) (err error) {
	decoder := src.NewDecoder()
	for p := range work {
		if err == nil {
			decoder.Decode(&p.Part)
		}
		<-p.before
		if err == nil {
			err = w.g.stamp(ctx, src, p)
		}
		close(p.stamped)
		if err == nil {
			err = w.add(&p.Part)
		}
		if err != nil {
			stop(err)
		}
		free <- p
	}
	return err
}

// stamp does what is done in the order of the file.
func (g *gathering) stamp(ctx context.Context, src *file.Source, p *orderedPart) error {
	strict := src.Stamp(ctx, &p.Part)
	batch := &p.Batch
	g.b.cfg.Note(batch)
	in := &g.input
	in.Posts += int64(len(batch.Posts))
	in.Rejected += int64(len(batch.Rejected))
	in.Skipped += int64(batch.Skipped)
	in.Changed += int64(len(batch.Notes))
	for i := range batch.Posts {
		if !batch.Posts[i].Timed {
			in.Untimed++
		}
	}
	g.estimator.read.Store(g.bytes + src.BytesRead())
	g.b.progress.read(g.estimator.read.Load(), in.Posts)
	return errors.Join(strict, g.writeLetters(batch.Rejected))
}

// ErrNoPosts says that there is not one post in all of the files.
var ErrNoPosts = errors.New("not one record is a post")

// writeLetters writes dead letters. Those of all parts are the same, and the first writes them.
func (g *gathering) writeLetters(rejected []ingest.Rejection) (err error) {
	if len(rejected) == 0 || g.b.cfg.Part != 1 {
		return nil
	}
	if g.letters == nil {
		if g.letters, err = g.b.newOutput(g.b.dir.deadLetters()); err != nil {
			return err
		}
		g.toLetters = ingest.NewDeadLetters(lineWriter{g.letters})
	}
	return g.toLetters.Write(rejected)
}

// lineWriter counts lines.
type lineWriter struct{ to *output }

func (w lineWriter) Write(p []byte) (int, error) {
	return len(p), w.to.write(p, bytes.Count(p, []byte("\n")))
}

// add adds the posts of a part that this part of the slices needs to the sorter.
func (w *gatherer) add(p *file.Part) error {
	cfg := &w.g.b.cfg
	before := w.sorter.bytes()
	for i := range p.Batch.Posts {
		post := &p.Batch.Posts[i]
		w.slices[cfg.sliceOf(post.Time)]++
		if !cfg.needs(post.Time) || !w.sorter.add(post, w.record(p, i)) {
			continue
		}
		w.g.estimator.sorted.Add(int64(w.sorter.bytes() - before))
		if err := w.spill(); err != nil {
			return err
		}
		w.g.estimate(int64(len(w.slices)), false)
		before = 0
	}
	w.g.estimator.sorted.Add(int64(w.sorter.bytes() - before))
	return nil
}

// record is a post as it came in, where that is kept.
func (w *gatherer) record(p *file.Part, i int) []byte {
	if !w.g.b.cfg.KeepFirst {
		return nil
	}
	raw := p.Record(i)
	w.g.estimator.raw.Add(int64(len(raw)))
	return raw
}

// keep sorts the posts that the sorter holds, which stay there.
func (w *gatherer) keep() error {
	w.sorter.sort()
	return nil
}

// spill writes the posts that the sorter holds to a run of their own.
func (w *gatherer) spill() error {
	if w.sorter.isEmpty() {
		return nil
	}
	path, err := w.g.writeRun(w.sorter.writeTo)
	if err != nil {
		return err
	}
	if err := w.g.estimator.spilled(int64(w.sorter.bytes()), path); err != nil {
		return err
	}
	w.sorter.reset()
	return nil
}

// sameKind refuses files whose posts cannot be told apart, or not be written to one archive.
func (g *gathering) sameKind(in *File, src *file.Source) error {
	format, first := src.Format(), &g.input.Files[0]
	if format == "text" && len(g.input.Files) > 1 {
		return fmt.Errorf("%s: posts of a text file are known by the numbers of their lines, which %d files have in common: "+
			"give one file, or JSON lines with an id each", in.path, len(g.input.Files))
	}
	if g.input.Format == "" {
		g.input.Format = format
	}
	if g.b.cfg.KeepFirst && format != g.input.Format {
		return fmt.Errorf("%s is %s and %s is %s: --keep first writes posts as they came, so it wants files of one format",
			first.path, g.input.Format, in.path, format)
	}
	return nil
}

// sameColumns refuses tables of different columns where posts are written as they came.
func (g *gathering) sameColumns(in *File, src *file.Source) error {
	if src.Header() == nil {
		return nil // it has no posts, or is no table
	}
	if g.input.Header == nil {
		g.input.Header, g.table, g.columns = src.Header(), in.path, src.Columns()
	}
	if here := src.Columns(); g.b.cfg.KeepFirst && here != g.columns {
		return fmt.Errorf("%s:1: its columns are %s, and those of %s are %s: --keep first writes posts as they came, so it wants "+
			"files with the same columns", in.path, here, g.table, g.columns)
	}
	return nil
}

// extension is that of the files of posts.
func (in *input) extension() string {
	if in.Format == "text" {
		return "txt"
	}
	return in.Format
}

// wipe empties a folder of what an earlier run left.
func wipe(folder string) error {
	return errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755))
}

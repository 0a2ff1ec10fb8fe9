package backfill

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"refrain/feed"
)

// sorted is posts in their order: a run, or a sorter where they stay in memory. Any number of cursors may read it at once.
type sorted interface {
	// cursor begins before the first post at from or later, and ends before to.
	cursor(from, to feed.Time, buffers *blockBuffers) *cursor
	close() error
}

// cursor is at one record of a sorted sequence.
type cursor struct {
	record
	source interface {
		next(*record) (more bool, err error)
	}
}

// advance goes to the next record, and reports whether there is one.
func (c *cursor) advance() (bool, error) { return c.source.next(&c.record) }

// compare is the order of the records that two cursors are at.
func (c *cursor) compare(d *cursor) int { return compareRecords(c.time, c.body, d.time, d.body) }

// postMerger yields the posts of several sorted sequences in their order.
type postMerger struct{ *merger[*cursor] }

// mergePosts merges what there is from one time up to another, which it leaves out. It is for one goroutine.
func mergePosts(all []sorted, from, to feed.Time) (postMerger, error) {
	buffers := &blockBuffers{}
	var cursors []*cursor
	for _, s := range all {
		cursors = append(cursors, s.cursor(from, to, buffers))
	}
	m, err := newMerger(cursors)
	return postMerger{m}, err
}

// next is the post that comes next, and how it came in; ok is false behind the last.
func (m postMerger) next() (p feed.Post, raw string, ok bool, err error) {
	c, ok := m.top()
	if !ok {
		return p, "", false, nil
	}
	p, raw = decodeBody(c.time, c.body)
	return p, raw, true, m.advance()
}

// newRun begins the next run.
func (g *gathering) newRun() (*output, error) {
	return g.b.newOutput(filepath.Join(g.b.dir.runs(), fmt.Sprintf("%06d.run", g.runs.Add(1))))
}

// writeRun writes a run. It is not synced: what a power cut leaves of it is found out by its checksums.
func (g *gathering) writeRun(write func(*runWriter) error) (path string, err error) {
	o, err := g.newRun()
	if err == nil {
		w := newRunWriter(unsummed{o})
		if err = write(w); err == nil {
			err = errors.Join(w.close(), o.flush(), o.file.Close(), o.publish())
		}
		if err != nil {
			o.abandon()
		}
	}
	if err != nil {
		return "", fmt.Errorf("sort posts: %w", err)
	}
	return o.path, nil
}

// unsummed writes to a file without a checksum: runs have their own.
type unsummed struct{ o *output }

func (u unsummed) Write(p []byte) (int, error) {
	u.o.Bytes += int64(len(p))
	return u.o.w.Write(p)
}

// mergeRuns leaves so few runs that slices can read all of them at once.
func (g *gathering) mergeRuns(ctx context.Context) error {
	paths, err := mergeDown(g.b.dir.runPaths(), g.b.cfg.fanIn(), func(group []string) (string, error) {
		return g.mergeGroup(ctx, group)
	})
	g.input.Runs = len(paths)
	return err
}

// mergeGroup writes one run of several.
func (g *gathering) mergeGroup(ctx context.Context, paths []string) (merged string, err error) {
	runs, err := openRuns(paths)
	if err != nil {
		return "", err
	}
	m, err := mergePosts(runs, minTime, maxTime)
	if err == nil {
		merged, err = g.writeRun(func(w *runWriter) error {
			return m.each(func(c *cursor) error { return errors.Join(ctx.Err(), w.add(c.time, []byte(c.body))) })
		})
	}
	return merged, errors.Join(err, closeRuns(runs))
}

// openRuns opens runs for reading.
func openRuns(paths []string) (runs []sorted, err error) {
	for _, path := range paths {
		r, err := openRun(path)
		if err != nil {
			return nil, errors.Join(err, closeRuns(runs))
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func closeRuns(runs []sorted) (err error) {
	for _, r := range runs {
		err = errors.Join(err, r.close())
	}
	return err
}

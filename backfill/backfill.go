// Package backfill finds in an archive of posts, in any order, the events that the stream of the same posts has: those of
// `refrain detect` over the posts sorted by time, found slice by slice.
//
// A slice is a stretch of time, [k·length, (k+1)·length) since 1970. Its events are those whose later post lies in it, and the
// earlier one is at most a span older. So whoever has the posts of one span before the slice, the run-in, and those of the slice
// itself, finds them without any other slice: the detector takes the run-in into its window without looking anything up, then
// looks up the posts of the slice. Slices are worked on side by side, on one machine or on several, and a slice that is finished
// stays finished.
//
//	files → gather → runs, each sorted by time ─┬→ merge → run-in and slice → detect → events-….jsonl
//	        (decode, sort in memory, spill)     ├→ merge → …                           posts-….jsonl
//	                                            └→ …                 all finished → manifest.json
//
// Gathering is the first half of an external merge sort: each worker sorts as many posts as its memory holds by (time, source,
// id, all else) and writes them to a run, unless they are all: then they stay in memory. A slice merges the stretches of all runs
// that it needs. So memory is bounded whatever the size and the order of the archive, and what a slice sees, and writes, does not
// depend on the order in which posts came.
//
// Where the window of a span does not fit, a slice takes several passes: in each the window holds the rows of one column, a part
// of all groups by their hashes, and all posts of the slice are looked up in it.
//
// What is finished is written to a temporary name, synced and renamed; a slice is finished when the file that describes it is
// there, which comes last. When all are, events that versions of a post have in common are left out but for one
// (duplicates.go), and the manifest is complete.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package backfill

import (
	"context"
	"errors"
	"fmt"
	"os"

	"refrain/feed"
)

// ErrStopped says that a backfill was told to end before it was finished. The same call goes on with it.
var ErrStopped = errors.New("interrupted")

// backfill is one run.
type backfill struct {
	cfg      Config
	dir      directory
	settings Settings
	input    *input   // as it was gathered
	inMemory []sorted // the posts, where all of them fit; nil: they are in runs
	kept     keptIDs
	release  release
	progress progress
}

// Run finds the events of an archive that are not found yet, and says in the manifest what there is. It is complete when all
// slices are: those of other parts may be missing. Errors leave finished slices as they are, and the next Run goes on.
func Run(ctx context.Context, cfg Config) (Manifest, error) {
	b := &backfill{cfg: cfg, settings: cfg.settings(), dir: newDirectory(cfg), progress: progress{report: cfg.Progress}}
	if err := cfg.validate(); err != nil {
		return Manifest{}, err
	}
	files, err := list(cfg.Files)
	if err != nil {
		return Manifest{}, err
	}
	for i := range files {
		b.progress.total.TotalBytes += files[i].Bytes
	}
	m, done, unlock, err := b.dir.begin(b.settings, files)
	if done || err != nil {
		return m, err
	}
	defer unlock()
	m, err = b.run(ctx, files)
	if err != nil && errors.Is(err, ctx.Err()) {
		err = ErrStopped
	}
	return m, err
}

func (b *backfill) run(ctx context.Context, files []File) (m Manifest, err error) {
	b.input = b.dir.input()
	gathered, err := b.gathered()
	if err != nil {
		return m, err
	}
	if !gathered {
		if b.input, err = b.gather(ctx, files); err != nil {
			return m, errors.Join(err, b.dir.unclaim())
		}
	}
	if err := b.slices(ctx); errors.Is(err, errDamaged) {
		return m, errors.Join(err, os.Remove(b.dir.inputFile()))
	} else if err != nil {
		return m, err
	}
	if err := os.RemoveAll(b.dir.runs()); err != nil {
		return m, err
	}
	return b.finish()
}

// gathered reports whether nothing that is to be done takes the files: the posts of all slices that are left are on disk, and so
// are the dead letters.
func (b *backfill) gathered() (bool, error) {
	if b.input == nil {
		return false, nil
	}
	if b.dir.hasRuns() && b.input.Runs > 0 {
		return true, nil
	}
	todo, err := b.unfinished()
	return len(todo) == 0 && (b.cfg.Part != 1 || b.input.Rejected == 0 || b.dir.letters() != nil), err
}

// sliceOf is the number of the slice that a time lies in.
func (c *Config) sliceOf(t feed.Time) int64 { return floorDiv(int64(t), c.Slice.Milliseconds()) }

// isOurs reports whether a slice is one of this part's.
func (c *Config) isOurs(slice int64) bool {
	return slice-floorDiv(slice, int64(c.Parts))*int64(c.Parts) == int64(c.Part-1)
}

// needs reports whether a post of a time is needed by a slice of this part: as its own, or in its run-in.
func (c *Config) needs(t feed.Time) bool {
	first := c.sliceOf(t)
	if c.Parts == 1 || c.isOurs(first) {
		return true
	}
	for s := first + 1; s < first+int64(c.Parts); s++ {
		if c.isOurs(s) {
			return c.start(s)-t <= c.span()
		}
	}
	return false
}

func (c *Config) start(slice int64) feed.Time { return feed.Time(slice * c.Slice.Milliseconds()) }

func (c *Config) span() feed.Time { return feed.Time(c.Window.Span.Milliseconds()) }

// floorDiv rounds down, also below zero.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// at is err with the slice it is of.
func (b *backfill) at(slice int64, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("slice %s: %w", b.cfg.start(slice), err)
}

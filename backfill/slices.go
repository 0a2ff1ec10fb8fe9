package backfill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"refrain/feed"
)

// Slice is the report of a slice that is finished.
type Slice struct {
	Start feed.Time `json:"start"`
	End   time.Time `json:"end"`   // the first time behind it, which may be later than that of any post
	Posts int64     `json:"posts"` // read for it, its own
	RunIn int64     `json:"runIn"` // posts of the span before it
	Counts
	WindowBytes int64    `json:"windowBytes"` // that the window has held at most, of one pass
	Files       []Output `json:"files"`
}

// Counts are of one slice, or of all that are finished.
type Counts struct {
	Redelivered int64 `json:"redelivered"` // posts that came more than once
	Sentences   int64 `json:"sentences"`   // compared
	TooShort    int64 `json:"tooShort"`    // sentences that were not
	Events      int64 `json:"events"`
	Duplicates  int64 `json:"duplicates"`     // events left out: of another version of their post, with the same id
	Kept        int64 `json:"kept,omitempty"` // posts that repeat nothing, where they are wanted
	Truncated   int64 `json:"truncated"`      // look-ups that max-matches cut short
	Forced      int64 `json:"forced"`         // texts and occurrences that the budget dropped before their time
}

func (c *Counts) add(o *Counts) {
	c.Redelivered += o.Redelivered
	c.Sentences += o.Sentences
	c.TooShort += o.TooShort
	c.Events += o.Events
	c.Duplicates += o.Duplicates
	c.Kept += o.Kept
	c.Truncated += o.Truncated
	c.Forced += o.Forced
}

// report is what is known of a finished slice.
type report struct {
	Slice
	IDs string `json:"ids"` // xxh3 of the file of ids
}

// unfinished are the slices of this part that have posts and are not finished, those with the most posts first, so that no
// worker is left alone with a large one in the end.
func (b *backfill) unfinished() (list []int64, err error) {
	finished, err := b.dir.reports()
	for _, s := range b.input.numbers() {
		if b.cfg.isOurs(s) && finished[b.cfg.start(s)] == nil {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(x, y int64) int { return cmp.Compare(b.input.Slices[y], b.input.Slices[x]) })
	return list, err
}

// slices works on the slices that are not finished, several at a time.
func (b *backfill) slices(ctx context.Context) error {
	todo, err := b.unfinished()
	if err != nil || len(todo) == 0 {
		return err
	}
	posts, err := b.openPosts()
	if err != nil {
		return err
	}
	b.beginSlices(todo)
	b.release.begin(b.held())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c := b.newCommitter(stop)
	err = b.workOn(ctx, todo, posts, c)
	if errCommit := c.end(); errCommit != nil {
		err = errCommit // the reason why the others have ended
	}
	return errors.Join(err, closeRuns(posts))
}

// held is how much memory the posts take that are in it.
func (b *backfill) held() (bytes int64) {
	if b.inMemory != nil {
		bytes = int64(b.cfg.SortBytes)
	}
	return bytes
}

// workOn has workers do slices, one after the other.
func (b *backfill) workOn(ctx context.Context, todo []int64, posts []sorted, c *committer) error {
	at := min(b.cfg.slicesAtOnce(), len(todo))
	eg, working := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range at {
		eg.Go(func() error {
			s := newScratch(max(1, b.cfg.Workers/at))
			for i := next.Add(1) - 1; i < int64(len(todo)) && working.Err() == nil; i = next.Add(1) - 1 {
				j := job{backfill: b, number: todo[i], sorted: posts, scratch: s}
				if err := j.run(working, c); err != nil {
					return b.at(todo[i], err)
				}
			}
			return working.Err()
		})
	}
	return eg.Wait()
}

// slicesAtOnce: where the window has to be cut into columns, there is room for one.
func (c *Config) slicesAtOnce() int {
	if c.Columns > 1 {
		return 1
	}
	return c.Workers
}

// job is the work on one slice.
type job struct {
	*backfill
	number int64
	sorted []sorted
	*scratch

	report   report
	repeated bits // sentences of the slice that repeat something, by number, where passes are several
	events   *eventOutput
	posts    *output
}

// run works on the slice and hands it on to be committed, or leaves nothing of it.
func (j *job) run(ctx context.Context, c *committer) (err error) {
	start := j.cfg.start(j.number)
	j.report.Slice = Slice{Start: start, End: j.cfg.start(j.number + 1).Time()}
	defer func() {
		if err != nil {
			j.events.abandon()
			j.posts.abandon()
		}
	}()
	if err := j.open(start); err != nil {
		return err
	}
	for column := range j.cfg.Columns {
		if err := j.pass(ctx, column); err != nil {
			return err
		}
	}
	done, err := j.end()
	if err == nil {
		c.queue <- done
	}
	return err
}

func (j *job) open(start feed.Time) (err error) {
	if j.events, err = j.openEvents(start, j.cfg.Columns); err != nil || !j.cfg.KeepFirst {
		return err
	}
	if j.posts, err = j.newOutput(j.dir.posts(start, j.input.extension())); err != nil || j.input.Header == nil {
		return err
	}
	return j.posts.write(j.input.Header, 0)
}

// end ends the writing.
func (j *job) end() (*written, error) {
	done := &written{report: &j.report}
	if j.events != nil {
		if err := j.events.end(&j.report); err != nil {
			return nil, err
		}
		done.outputs = append(done.outputs, j.events.lines)
	}
	if j.posts == nil {
		return done, nil
	}
	done.outputs = append(done.outputs, j.posts)
	j.report.Kept = j.posts.Lines
	err := j.posts.flush()
	j.report.Files = append(j.report.Files, j.posts.Output)
	return done, err
}

// openPosts are the posts in memory, or else all runs, if they are as many as were written.
func (b *backfill) openPosts() ([]sorted, error) {
	if b.inMemory != nil {
		return b.inMemory, nil
	}
	paths := b.dir.runPaths()
	if len(paths) != b.input.Runs {
		return nil, fmt.Errorf("%s has %d of %d runs: %w", b.dir.runs(), len(paths), b.input.Runs, errDamaged)
	}
	return openRuns(paths)
}

// bits is a set of numbers from 0.
type bits []uint64

func (b bits) has(n int64) bool { return n/64 < int64(len(b)) && b[n/64]>>(n%64)&1 == 1 }

func (b *bits) set(n int64) {
	for n/64 >= int64(len(*b)) {
		*b = append(*b, 0)
	}
	(*b)[n/64] |= 1 << (n % 64)
}

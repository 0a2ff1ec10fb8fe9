package backfill

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Estimate is what a backfill is going to take.
type Estimate struct {
	Exact       bool          // everything has been read; else it is by the first posts that were sorted
	Slices      int64         // with posts; as far as read
	BetterSlice time.Duration // with which it would take less time; 0: about the same
	RunBytes    int64         // on disk until the end: the posts, sorted
	PostBytes   int64         // on disk, at most, of posts that are kept
	Free        int64         // on that disk now; below 0: not known
}

// estimator counts what an Estimate is made of. Any goroutine may use it.
type estimator struct {
	read, sorted atomic.Int64 // bytes of the files, as they are stored; bytes of their posts
	in, out      atomic.Int64 // bytes of the posts in runs, before and after they were compressed
	raw          atomic.Int64 // bytes of the posts as they came in, where these are kept
	first        sync.Once
}

// spilled counts a run.
func (e *estimator) spilled(bytes int64, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	e.in.Add(bytes)
	e.out.Add(info.Size())
	return nil
}

// estimate reports what this backfill takes: once by the first run, and once when everything has been read.
func (g *gathering) estimate(slices int64, exact bool) {
	if exact {
		g.b.cfg.Estimate(g.estimator.of(g.b, slices, true))
		return
	}
	g.estimator.first.Do(func() { g.b.cfg.Estimate(g.estimator.of(g.b, slices, false)) })
}

func (e *estimator) of(b *backfill, slices int64, exact bool) Estimate {
	share := 1.0 // of the files that has been read
	if total := b.progress.total.TotalBytes; !exact && total > 0 {
		share = min(1, float64(e.read.Load())/float64(total))
	}
	packed := float64(e.out.Load()) / max(1, float64(e.in.Load()))
	return Estimate{
		Exact: exact, Slices: slices, BetterSlice: b.cfg.betterSlice(slices), Free: free(b.dir.out),
		RunBytes: int64(packed * float64(e.sorted.Load()) / share), PostBytes: int64(float64(e.raw.Load()) / share),
	}
}

// maxSlices are as many as take little time: each opens and syncs files, and reads a block of each run.
const maxSlices = 5_000

// betterSlice is a longer slice where there are very many, or where the run-ins are most of what is read. 0: this one will do.
func (c *Config) betterSlice(slices int64) time.Duration {
	if slices == 0 || slices <= maxSlices && c.Window.Span <= 3*c.Slice {
		return 0
	}
	const day = 24 * time.Hour
	better := max(c.Window.Span, c.Slice*time.Duration(1+slices/(maxSlices/5)))
	return (better + day - 1) / day * day
}

// free is how many bytes the disk of a folder has left for this user, below 0 if that is not known.
func free(folder string) int64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return -1
	}
	return int64(st.Bavail) * int64(st.Bsize)
}

package backfill

import (
	"sync"
	"sync/atomic"

	"refrain/internal/memory"
)

// Progress is how far a backfill is.
type Progress struct {
	Gathering           bool  // the files are being read; else slices are worked on
	Bytes, TotalBytes   int64 // of the files, as they are stored
	Posts, TotalPosts   int64 // read; or worked on, of all slices that are to be done, once for each pass
	Slices, TotalSlices int64 // finished, of those that are to be done
}

// progress reports how far it is.
type progress struct {
	report func(Progress)
	total  Progress
	done   atomic.Int64 // posts
	slices atomic.Int64
}

// read says how much has been gathered.
func (p *progress) read(bytes, posts int64) {
	p.report(Progress{Gathering: true, Bytes: bytes, TotalBytes: p.total.TotalBytes, Posts: posts})
}

// begin says which slices are to be done.
func (b *backfill) beginSlices(todo []int64) {
	b.progress.total = Progress{TotalSlices: int64(len(todo))}
	for _, s := range todo {
		b.progress.total.TotalPosts += b.input.Slices[s] * int64(b.cfg.Columns)
	}
}

// posts says that so many more are done.
func (p *progress) posts(n int) {
	p.done.Add(int64(n))
	p.now()
}

// finish says that so many more slices are finished.
func (p *progress) finish(slices int) {
	p.slices.Add(int64(slices))
	p.now()
}

func (p *progress) now() {
	at := p.total
	at.Posts, at.Slices = p.done.Load(), p.slices.Load()
	p.report(at)
}

// release gives memory back when windows have gone, and lets garbage be collected as rarely as that allows. Any goroutine may
// use it.
type release struct {
	mu       sync.Mutex
	bytes    map[*pass]int64
	total    int64
	reported int64 // to the keeper
	keeper   memory.Keeper
}

// begin is called before there is any window, with the bytes that are held for all of the time.
func (r *release) begin(held int64) {
	r.bytes, r.total = map[*pass]int64{}, held
	r.keeper.Garbage = garbageBytes
	r.keeper.Holds(held)
}

// holds says how many bytes the window of a pass holds now.
func (r *release) holds(p *pass, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total += bytes - r.bytes[p]
	r.bytes[p] = bytes
	if change := r.total - r.reported; max(change, -change) > minChange+r.reported/8 {
		r.reported = r.total
		r.keeper.Holds(r.total)
	}
}

// minChange is worth reporting: the collector stops everything to take in a new goal.
const minChange = 4 << 20

// drop says that a pass is done.
func (r *release) drop(p *pass) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total -= r.bytes[p]
	delete(r.bytes, p)
}

// garbageBytes are enough between two collections: memory matters less than in a service, and time more.
const garbageBytes = 64 << 20

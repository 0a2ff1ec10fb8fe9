package publish

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// stalledAfter is how long a stream may wait for its client while others wait for the memory that it holds.
const stalledAfter = time.Second

// writers share out the memory of what is being written to clients. Where there is none left, streams whose clients do
// not read are cut off. All methods may be called by several goroutines.
type writers struct {
	max  int64
	free *semaphore.Weighted

	mu    sync.Mutex
	since map[*stream]time.Time // when a stream began to write
}

func newWriters(limit int64) *writers {
	return &writers{max: limit, free: semaphore.NewWeighted(limit), since: map[*stream]time.Time{}}
}

// begin waits for memory to write n bytes; done gives it back.
func (w *writers) begin(ctx context.Context, s *stream, n int64) (done func(), err error) {
	n = min(n, w.max)
	for !w.free.TryAcquire(n) {
		w.cutStalled(time.Now())
		turn, cancel := context.WithTimeout(ctx, stalledAfter/2)
		err := w.free.Acquire(turn, n)
		cancel()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since[s] = time.Now()
	return func() { w.end(s, n) }, nil
}

func (w *writers) end(s *stream, n int64) {
	w.mu.Lock()
	delete(w.since, s)
	w.mu.Unlock()
	w.free.Release(n)
}

// cutStalled ends the writes that have gone on for too long.
func (w *writers) cutStalled(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s, since := range w.since {
		if now.Sub(since) >= stalledAfter {
			_ = s.control.SetWriteDeadline(now) // the write fails, and is counted
		}
	}
}

// bytes is what a piece takes twice, as records and as it is written.
func (f *fetched) bytes() (n int64) {
	for i := range f.records {
		n += 2 * recordBytes(&f.records[i])
	}
	return n
}

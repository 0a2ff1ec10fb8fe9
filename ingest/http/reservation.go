package http

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	// freeBytes is what every upload may hold whatever the others hold: it always gets on, if slowly.
	freeBytes = 128 << 10
	// answerBytes is what every answer may hold: more of them wait for their readers than there are uploads.
	answerBytes = 16 << 10
)

// postOverhead is about what a post holds besides its JSON, with its line of the answer.
const postOverhead = 512

// answersShare is the part of Config.UploadBytes that is for answers, one in so many: those that nobody reads leave room
// for bodies.
const answersShare = 4

// reservation is what one upload holds of Config.UploadBytes, which all uploads share: of its body what is not durable
// yet, or of its answer. It may be used by several goroutines.
type reservation struct {
	shared *semaphore.Weighted
	free   int64

	mu      sync.Mutex
	held    int64
	charged int64 // of shared: what is held beyond free
}

func newReservation(shared *semaphore.Weighted, free int64) *reservation {
	return &reservation{shared: shared, free: free}
}

// tryAdd holds n bytes more, if there is room for them now.
func (r *reservation) tryAdd(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	more := r.missing(n)
	if more > 0 && !r.shared.TryAcquire(more) {
		return false
	}
	r.held, r.charged = r.held+n, r.charged+more
	return true
}

// missing is what has to be charged for n bytes more.
func (r *reservation) missing(n int64) int64 { return max(0, r.held+n-r.free-r.charged) }

// add waits until there is room.
func (r *reservation) add(ctx context.Context, n int64) error {
	r.mu.Lock()
	more := r.missing(n) // less, once batches are acknowledged meanwhile: remove gives back what is too much
	r.mu.Unlock()
	if err := r.shared.Acquire(ctx, more); err != nil {
		return err
	}
	r.mu.Lock()
	r.charged += more
	r.held += n
	r.mu.Unlock()
	r.remove(0)
	return nil
}

// remove holds n bytes less.
func (r *reservation) remove(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held -= n
	if excess := r.charged - max(0, r.held-r.free); excess > 0 {
		r.shared.Release(excess)
		r.charged -= excess
	}
}

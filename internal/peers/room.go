package peers

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// holding is what the answers to one question have of the room for all: until they are merged, for that is how long they
// are kept. Where questions wait for each other's room some answers are missing in the end, and named.
type holding struct {
	asker *Asker
	bytes atomic.Int64
}

// acquire waits for room for an answer as long as one waits for the answer.
func (h *holding) acquire(ctx context.Context, size int64) error {
	a := h.asker
	a.once.Do(func() { a.room = semaphore.NewWeighted(a.MaxAnswers) })
	if err := a.room.Acquire(ctx, size); err != nil {
		return fmt.Errorf("its answer has up to %d bytes, for which there is no room beside the others', %d bytes in all: look up "+
			"less text at once, or fewer texts (limits.matches): %w", size, a.MaxAnswers, err)
	}
	h.bytes.Add(size)
	return nil
}

// giveBack gives free what an answer did not need.
func (h *holding) giveBack(size int64) {
	if size > 0 {
		h.bytes.Add(-size)
		h.asker.room.Release(size)
	}
}

func (h *holding) release() {
	if n := h.bytes.Load(); n > 0 {
		h.asker.room.Release(n)
	}
}

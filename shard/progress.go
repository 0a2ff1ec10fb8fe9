package shard

import (
	"context"
	"slices"
	"sync"

	"refrain/feed"
	"refrain/text"
)

// progress is how far everything has been looked up in all owned rows, with its events durable.
type progress struct {
	mu       sync.Mutex
	lookedUp []int64
	changed  chan struct{} // closed and replaced when lookedUp changes
}

func newProgress(partitions int) progress {
	return progress{lookedUp: make([]int64, partitions), changed: make(chan struct{})}
}

func (g *progress) reach(position func(p int) int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	moved := false
	for p := range g.lookedUp {
		if n := position(p); n > g.lookedUp[p] {
			g.lookedUp[p], moved = n, true
		}
	}
	if moved {
		close(g.changed)
		g.changed = make(chan struct{})
	}
}

func (g *progress) positions() []int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.lookedUp)
}

// passed reports whether everything below ends is done, and if not, what to wait for.
func (g *progress) passed(ends []int64) (bool, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p, end := range ends {
		if g.lookedUp[p] < end {
			return false, g.changed
		}
	}
	return true, nil
}

// WaitFor returns nil once everything that the sentence topic holds before ends, one position per partition as Bounds
// reports them, has been looked up in all rows of this worker, with its events durable.
func (w *Worker) WaitFor(ctx context.Context, ends []int64) error {
	for {
		done, changed := w.progress.passed(ends)
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// EachMatch looks a sentence up in the rows of this worker, for a threshold that is at least theirs, without storing
// anything. A match is found's until it returns.
func (w *Worker) EachMatch(ctx context.Context, x *feed.Sentence, least text.Threshold, found func(*feed.Match)) error {
	for _, q := range w.owned {
		if err := q.match(ctx, x, least, found); err != nil {
			return err
		}
	}
	return nil
}

// match waits for the rows no longer than ctx: a turn has them until the event topic takes what it found.
func (q *partition) match(ctx context.Context, x *feed.Sentence, least text.Threshold, found func(*feed.Match)) error {
	if err := q.lock.LockContext(ctx); err != nil {
		return err
	}
	defer q.lock.Unlock()
	q.rows.EachMatchFrom(least, x, found)
	return nil
}

// Owned are the partitions whose rows this worker has.
func (w *Worker) Owned() []int { return slices.Clone(w.cfg.Owned) }

// Locked calls f while neither a turn nor EachMatch uses the rows of an owned partition: whoever has made the rows may
// then use them himself. f should be short: posts wait.
func (w *Worker) Locked(partition int, f func()) {
	q := w.home[partition]
	q.lock.Lock()
	defer q.lock.Unlock()
	f()
}

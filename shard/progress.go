package shard

import (
	"context"
	"slices"
	"sync"

	"refrain/feed"
)

// progress is how far everything has been looked up in all owned rows, with its events durable.
type progress struct {
	mu      sync.Mutex
	looked  []int64
	changed chan struct{} // closed and replaced when looked changes
}

func newProgress(partitions int) progress {
	return progress{looked: make([]int64, partitions), changed: make(chan struct{})}
}

func (g *progress) reach(looked func(p int) int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	moved := false
	for p := range g.looked {
		if n := looked(p); n > g.looked[p] {
			g.looked[p], moved = n, true
		}
	}
	if moved {
		close(g.changed)
		g.changed = make(chan struct{})
	}
}

// passed reports whether everything below ends is done, and if not, what to wait for.
func (g *progress) passed(ends []int64) (bool, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p, end := range ends {
		if g.looked[p] < end {
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

// Match looks sentences up in the rows of this worker without storing anything.
func (w *Worker) Match(ctx context.Context, sentences []feed.Sentence) ([]feed.Match, error) {
	var matches []feed.Match
	for _, q := range w.owned {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		matches = q.match(matches, sentences)
	}
	return matches, nil
}

func (q *partition) match(dst []feed.Match, sentences []feed.Sentence) []feed.Match {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range sentences {
		dst = q.rows.Lookup(dst, &sentences[i])
	}
	return dst
}

// Owned are the partitions whose rows this worker has.
func (w *Worker) Owned() []int { return slices.Clone(w.cfg.Owned) }

// Locked calls f while neither a turn nor Match uses the rows of an owned partition: whoever has made the rows may
// then use them himself. f should be short: posts wait.
func (w *Worker) Locked(partition int, f func()) {
	q := w.home[partition]
	q.mu.Lock()
	defer q.mu.Unlock()
	f()
}

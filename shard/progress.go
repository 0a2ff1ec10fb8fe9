package shard

import (
	"cmp"
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
	changed  *broadcast
}

func newProgress(partitions int, changed *broadcast) progress {
	return progress{lookedUp: make([]int64, partitions), changed: cmp.Or(changed, newBroadcast())}
}

// broadcast wakes everybody who waits for a change.
type broadcast struct {
	mu   sync.Mutex
	next chan struct{} // closed and replaced
}

func newBroadcast() *broadcast { return &broadcast{next: make(chan struct{})} }

// changes is closed at the next change.
func (b *broadcast) changes() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}

// wait returns nil once done does.
func (b *broadcast) wait(ctx context.Context, done func() bool) error {
	for {
		changes := b.changes()
		if done() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changes:
		}
	}
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
		g.changed.send()
	}
}

// lower takes back what does not hold for partitions that were taken over.
func (g *progress) lower(position func(p int) int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.lookedUp {
		g.lookedUp[p] = min(g.lookedUp[p], position(p))
	}
}

func (g *progress) positions() []int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.lookedUp)
}

// passed reports whether everything below ends is done.
func (g *progress) passed(ends []int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p, end := range ends {
		if g.lookedUp[p] < end {
			return false
		}
	}
	return true
}

// WaitFor returns nil once everything that the sentence topic holds before ends, one position per partition as Bounds
// reports them, has been looked up in all rows of this worker, with its events durable.
func (w *Worker) WaitFor(ctx context.Context, ends []int64) error {
	return w.progress.changed.wait(ctx, func() bool { return w.progress.passed(ends) })
}

// EachMatch looks a sentence up in the rows of this worker, for a threshold that is at least theirs, without storing
// anything. A match is found's until it returns.
func (w *Worker) EachMatch(ctx context.Context, x *feed.Sentence, least text.Threshold, found func(*feed.Match)) error {
	for _, q := range *w.serving.Load() {
		if _, err := q.match(ctx, x, least, found); err != nil {
			return err
		}
	}
	return nil
}

// match waits for the rows no longer than ctx: a turn has them until the event topic takes what it found.
// It is false where they are gone.
func (q *partition) match(ctx context.Context, x *feed.Sentence, least text.Threshold, found func(*feed.Match)) (bool, error) {
	if err := q.lock.LockContext(ctx); err != nil {
		return false, err
	}
	defer q.lock.Unlock()
	if q.gone {
		return false, nil
	}
	q.rows.EachMatchFrom(least, x, found)
	return true, nil
}

// Owned are the partitions whose rows this worker has.
func (w *Worker) Owned() []int {
	owned := []int{}
	for _, q := range *w.serving.Load() {
		owned = append(owned, q.id)
	}
	return owned
}

// First is the first of the partitions that it serves, by which metrics name a worker; false once it has none: it is asked while
// they come and go.
func (w *Worker) First() (id int, serves bool) {
	owned := *w.serving.Load()
	if len(owned) == 0 {
		return 0, false
	}
	return owned[0].id, true
}

// Locked calls f while neither a turn nor EachMatch uses the rows of an owned partition: whoever has made the rows may
// then use them himself. f should be short: posts wait. It is false, and f not called, where the rows are gone.
func (w *Worker) Locked(id int, f func()) bool {
	owned := *w.serving.Load()
	i := slices.IndexFunc(owned, func(q *partition) bool { return q.id == id })
	return i >= 0 && owned[i].locked(f)
}

func (q *partition) locked(f func()) bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	if !q.gone {
		f()
	}
	return !q.gone
}

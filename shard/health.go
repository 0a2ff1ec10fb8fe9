package shard

import (
	"context"
	"sync/atomic"
	"time"
)

// health is what others may ask a worker about itself, from any goroutine.
type health struct {
	trouble atomic.Pointer[Trouble]
	oldest  atomic.Int64 // stamp of the oldest record that waits; 0: none does
	age     atomic.Int64 // see Lag, nanoseconds
	held    atomic.Pointer[Held]

	lookedUpTo atomic.Int64 // see LookedUpTo
}

// Trouble is why a worker's turns fail.
type Trouble struct {
	Since    time.Time
	Failures int // one after the other
	Err      error
	// The record that it does not get past, or where it would read on.
	Partition int
	Position  int64
}

// Held is the source partition that holds the window's clock, and how far it is behind the fastest one; where it has no
// clock yet, how far the window's is.
type Held struct {
	Source string
	Behind time.Duration
}

// Trouble is nil while turns succeed.
func (w *Worker) Trouble() *Trouble { return w.health.trouble.Load() }

// HeldBy is nil while no source partition is behind another.
func (w *Worker) HeldBy() *Held { return w.health.held.Load() }

// Waits is how long the oldest record has waited that was read and is not looked up everywhere, its events durable.
// It grows while a turn hangs.
func (w *Worker) Waits() time.Duration {
	stamp := w.health.oldest.Load()
	if stamp == 0 {
		return 0
	}
	return max(0, w.cfg.Now().Sub(time.Unix(0, stamp)))
}

// Lag is how far the worker is behind: the age of the oldest record of its last turn when that began, or of what waits
// longer by now.
func (w *Worker) Lag() time.Duration { return max(w.Waits(), time.Duration(w.health.age.Load())) }

// begins notes that a turn has read records. What a turn that failed has left waits still.
func (w *Worker) begins(items []*item) {
	if len(items) == 0 {
		w.health.age.Store(0)
		return
	}
	w.health.age.Store(w.cfg.Now().UnixNano() - items[0].stamp)
	if w.health.oldest.Load() == 0 {
		w.health.oldest.Store(items[0].stamp)
	}
}

// ends notes what a turn that did not fail has left.
func (w *Worker) ends() {
	stamp, _ := w.queue.oldest()
	w.health.oldest.Store(stamp)
}

// noteTrouble notes how a turn has ended.
func (w *Worker) noteTrouble(err error) {
	last := w.health.trouble.Load()
	if err == nil {
		if last != nil {
			w.health.trouble.Store(nil)
		}
		return
	}
	w.metrics.failures.Add(context.Background(), 1, firstOf(w.owned))
	now := Trouble{Since: w.cfg.Now(), Failures: 1, Err: err}
	if last != nil {
		now.Since, now.Failures = last.Since, last.Failures+1
	}
	now.Partition, now.Position = w.stuckAt()
	w.health.trouble.Store(&now)
}

// stuckAt is the first record that is not looked up everywhere with its events durable, and not older than what was read.
func (w *Worker) stuckAt() (partition int, position int64) {
	done := w.progress.positions()
	for p := range done {
		if done[p] < done[partition] {
			partition = p
		}
	}
	return partition, done[partition]
}

// logTrouble logs that a turn has failed.
func (w *Worker) logTrouble(err error, pause time.Duration) {
	t := w.Trouble()
	w.cfg.Logger.Error("match worker: retrying turn", "error", err, "pause", pause,
		"partition", t.Partition, "position", t.Position, "failures", t.Failures)
}

// publishView brings up to date what others may ask about the rows and about who holds the clock, before each commit.
// Rows do so by themselves as their clock moves, or now and then: the last ones of a replay would stay out.
func (w *Worker) publishView() {
	if !w.commitIsDue(w.cfg.Now(), w.cfg.Commit) {
		return
	}
	w.each(func(q *partition) { q.rows.Publish() })
	w.health.held.Store(w.owned[0].state.Watermarks.held())
}

// held says who holds the clock back; nil: nobody.
func (m *Watermarks) held() *Held {
	slowest, _ := m.minClock()
	newest, known := m.maxClock()
	clock := slowest.time
	if clock == noClock {
		clock = m.clock
	}
	if !known || newest <= clock {
		return nil
	}
	return &Held{Source: slowest.source, Behind: time.Duration(newest-clock) * time.Millisecond}
}

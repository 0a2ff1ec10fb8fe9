package server

import (
	"math"
	"time"

	"refrain/ingest"
	"refrain/internal/quota"
	"refrain/shard"
)

// backlog is what one sender has sent that is not looked up yet, in sentences, and what it may be. What a look-up will cost
// shows when it is done: so a sender begins with little, and has room for more as that gets looked up, up to what takes no
// longer than quotas.pace at the cost of its dearest sentences lately. (So TCP begins, RFC 5681, 3.1.)
type backlog struct {
	underWay quota.Usage // of batches that are let in and not durable yet, about
	durable  int64       // ever
	last     time.Time   // the newest stamp of those
	workers  []lookups

	changed chan struct{} // closed when there is room again; nil: nobody waits
}

// lookups are those of a sender's sentences by one worker. One alone may hold all that a text repeats: a mean of several would
// hide what it costs.
type lookups struct {
	done    int64   // sentences, ever
	cost    float64 // nanoseconds a sentence
	sampled shard.Spent
}

const (
	minBacklog = 512  // sentences: what a new sender has room for
	maxBacklog = 4096 // what look-ups are never faster than within the time of an append
	// minCostly is how many may wait however much they cost: less would be held up by a pause of the machine.
	minCostly = 64
	// costSample is how many sentences the cost is measured over.
	costSample = 128
	// costHalf is after how many cheap sentences a cost counts half.
	costHalf = 4096
)

func newBacklog(workers int) *backlog {
	return &backlog{workers: make([]lookups, workers)}
}

// usageOf is what a batch will be charged with, about: how many sentences it has shows when it is split.
func usageOf(b *ingest.Batch) quota.Usage {
	const usual = 64 // bytes of a sentence
	u := quota.Usage{Posts: int64(len(b.Posts))}
	for i := range b.Posts {
		u.Sentences += 1 + int64(len(b.Posts[i].Text)/usual)
	}
	return u
}

// full reports whether the next batch has to wait. One is let in always.
func (l *backlog) full(most time.Duration) bool {
	n := l.underWay.Sentences + l.waiting()
	return n > 0 && n >= l.room(most)
}

func (l *backlog) room(most time.Duration) int64 {
	const caution = 4 // the next may be dearer than the last: each variant of a text repeats all that came before
	affordable := float64(most) / caution / max(l.cost(), 1)
	proven := minBacklog + l.lookedUp()
	return max(minCostly, int64(min(float64(proven), affordable, maxBacklog)))
}

func (l *backlog) waiting() int64 { return l.durable - l.lookedUp() }

// lookedUp is how many sentences all workers have looked up.
func (l *backlog) lookedUp() int64 {
	lowest := l.workers[0].done
	for i := range l.workers {
		lowest = min(lowest, l.workers[i].done)
	}
	return lowest
}

// cost is that of a sentence where it is highest, in nanoseconds.
func (l *backlog) cost() (highest float64) {
	for i := range l.workers {
		highest = max(highest, l.workers[i].cost)
	}
	return highest
}

func (l *backlog) add(stamp time.Time, sentences int64) {
	l.durable += sentences
	l.last = stamp
}

// reconcile corrects what was miscounted. More is looked up than is known to be durable, or under way, when an append was done
// although it failed, and where other processes let the same sender in; less, when records are lost.
func (l *backlog) reconcile(lookedUpTo time.Time) {
	l.durable = max(l.durable, l.lookedUp()-l.underWay.Sentences)
	if l.underWay == (quota.Usage{}) && lookedUpTo.After(l.last) {
		l.durable = l.lookedUp()
	}
}

// learn takes in what some look-ups have cost.
func (l *lookups) learn(s *shard.Spent) {
	l.done += int64(s.Sentences)
	l.sampled.Sentences += s.Sentences
	l.sampled.Took += s.Took
	n := float64(l.sampled.Sentences)
	if n < costSample {
		return
	}
	l.cost = max(float64(l.sampled.Took)/n, l.cost*math.Exp2(-n/costHalf))
	l.sampled = shard.Spent{}
}

// await returns what is closed when there is room again.
func (l *backlog) await() <-chan struct{} {
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// wake tells those who wait, if there is room.
func (l *backlog) wake(most time.Duration) {
	if l.changed != nil && !l.full(most) {
		close(l.changed)
		l.changed = nil
	}
}

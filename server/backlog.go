package server

import (
	"math"
	"slices"
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
	lookedUp []int64     // ever, by worker

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
	return &backlog{lookedUp: make([]int64, workers)}
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
	affordable := float64(most) / caution / max(l.cost, 1)
	proven := minBacklog + slices.Min(l.lookedUp)
	return max(minCostly, int64(min(float64(proven), affordable, maxBacklog)))
}

func (l *backlog) waiting() int64 { return l.durable - slices.Min(l.lookedUp) }

func (l *backlog) add(stamp time.Time, sentences int64) {
	l.durable += sentences
	l.last = stamp
}

// settle corrects what was miscounted: where all is looked up, or more than is known to be durable. That is so after a start,
// and when an append was done although it failed.
func (l *backlog) settle(lookedUpTo time.Time) {
	if lookedUpTo.After(l.last) || l.waiting() < 0 {
		l.durable = slices.Min(l.lookedUp)
	}
}

// learn takes in what some look-ups of a worker have cost.
func (l *backlog) learn(worker int, s *shard.Spent) {
	l.lookedUp[worker] += int64(s.Sentences)
	l.sampled.Sentences += s.Sentences
	l.sampled.Took += s.Took
	n := float64(l.sampled.Sentences)
	if n < costSample {
		return
	}
	l.cost = max(float64(l.sampled.Took)/n, l.cost*math.Exp2(-n/costHalf))
	l.sampled = shard.Spent{}
}

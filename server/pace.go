package server

import (
	"context"
	"time"

	"refrain/ingest"
	"refrain/internal/quota"
	"refrain/internal/retry"
)

// pace holds those back who send faster than look-ups go, or everybody's events would wait behind what they have sent: what
// is accepted is looked up in its order. Who sends no more than its quota gives on average is not held back.
type pace struct {
	lag      func() time.Duration // how far look-ups are behind
	max      time.Duration        // no one waits while they are less behind; 0: no one waits ever
	patience time.Duration        // how long a client waits before it is told to come back
}

// hurryWindow is the time in which a sender may use up what its quota gives in it: more is hurrying.
const hurryWindow = 2 * time.Second

// limitPace is what metrics call it.
const limitPace = "pace"

// maxPaceWait is less than the time for a request's last batches to become durable.
const maxPaceWait = 20 * time.Second

// pacePause is between two looks at the lag.
const pacePause = 50 * time.Millisecond

func (p *pace) isBehind() bool { return p.max > 0 && p.lag() > p.max }

// awaitPace holds a client's batch back as long as its sender hurries and look-ups are behind. After patience it is refused,
// with ingest.ErrBehind.
func (q *quotas) awaitPace(ctx context.Context, b *ingest.Batch) error {
	if !q.mustWait(b) {
		return nil
	}
	defer q.countWait(b, time.Now())
	ctx, cancel := context.WithTimeout(ctx, q.pace.patience)
	defer cancel()
	for q.mustWait(b) {
		if retry.Sleep(ctx, pacePause) != nil {
			return ingest.ErrBehind
		}
	}
	return nil
}

// followPace holds a feed's batch back while look-ups are behind, and tells meanwhile that its partition is silent, and not
// idle.
func (q *quotas) followPace(ctx context.Context, b *ingest.Batch, touch func(partition string)) error {
	if !q.mustWait(b) {
		return nil
	}
	defer q.countWait(b, time.Now())
	for q.mustWait(b) {
		touch(b.Partition)
		if err := retry.Sleep(ctx, pacePause); err != nil {
			return err
		}
	}
	return nil
}

// mustWait is false for deletions: they cost no look-up.
func (q *quotas) mustWait(b *ingest.Batch) bool {
	return len(b.Posts) > 0 && q.pace.isBehind() && q.counted.Hurries(quota.Sender(b.Sender), hurryWindow)
}

func (q *quotas) countWait(b *ingest.Batch, since time.Time) {
	of := which(&quota.Exceeded{Kind: quota.Sender(b.Sender).Kind(), Limit: limitPace})
	q.waits.Add(context.Background(), 1, of)
	q.waited.Add(context.Background(), time.Since(since).Seconds(), of)
}

// lag is how far the worker is behind that is furthest.
func (n *node) lag() (longest time.Duration) {
	for _, w := range n.workers {
		longest = max(longest, w.Lag())
	}
	return longest
}

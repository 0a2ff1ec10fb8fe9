package server

import (
	"context"
	"math"
	"sync"
	"time"

	"refrain/ingest"
	"refrain/internal/quota"
	"refrain/shard"
	"refrain/split"
)

// pace holds senders back, or everybody's events would wait behind what they have sent: what is accepted is looked up in its
// order. Each may have so much waiting for look-ups (backlog), and while they are behind all the same, who sends no more than
// its quota gives on average goes first.
type pace struct {
	lag        func() time.Duration // how far look-ups are behind
	lookedUpTo func() time.Time     // what was stamped by then is looked up
	stands     func() bool          // look-ups stand for what is no sender's doing
	max        time.Duration        // no one waits while they are less behind; 0: no one waits ever
	overdue    time.Duration        // everybody waits while they are further behind
	patience   time.Duration        // how long a client waits before it is told to come back

	workers  int // 0: they are elsewhere, and nothing is known of what single senders cost
	mu       sync.Mutex
	backlogs map[quota.Sender]*backlog
}

func newPace(cfg *Quotas, n *node) *pace {
	return &pace{
		lag: n.lag, lookedUpTo: n.lookedUpTo, stands: n.stands, max: cfg.Pace, overdue: n.overdue(), patience: maxPaceWait, workers: n.paceWorkers(),
		backlogs: map[quota.Sender]*backlog{},
	}
}

// paceWorkers is how many workers tell what look-ups cost: those of this process, if nobody else has any.
func (n *node) paceWorkers() int {
	if n.match == nil || n.owners != nil {
		return 0
	}
	return len(n.match.crew.Workers())
}

// hurryWindow is the time in which a sender may use up what its quota gives in it: more is hurrying.
const hurryWindow = 2 * time.Second

// burstWindow is the same for who has a full backlog while look-ups stand: what comes no faster is let in.
const burstWindow = 250 * time.Millisecond

// limitPace is what metrics call it.
const limitPace = "pace"

// maxPaceWait is less than the time for a request's last batches to become durable.
const maxPaceWait = 20 * time.Second

// pacePause is between two looks at the lag, if there is no room meanwhile.
const pacePause = 50 * time.Millisecond

// overdue is how far look-ups may be behind where workers are elsewhere. The topics keep records for an hour more than windows
// reach, with what max_hold may hold back: beyond that a record would leave before it is looked up, and the rows that it
// matches before that. Our own worker is further behind only after a long stop, and then catches up.
func (n *node) overdue() time.Duration {
	if n.owners == nil {
		return math.MaxInt64
	}
	return n.cfg.Window.MaxHold + retentionMargin/2
}

func (p *pace) isOverdue() bool { return p.lag() > p.overdue }

func (p *pace) isBehind() bool { return p.max > 0 && p.lag() > p.max }

// reserve makes room for a batch in its sender's backlog, until release is called; false, and what to wait for, where there
// is none. Where look-ups stand a full backlog says nothing of its sender, and what hurries says of all that is under way does.
func (p *pace) reserve(b *ingest.Batch, hurries func(quota.Usage) bool) (release func(), ok bool, changed <-chan struct{}) {
	if p.workers == 0 {
		return func() {}, true, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.backlog(b.Sender)
	l.reconcile(p.lookedUpTo())
	if p.max > 0 && l.full(p.max) && (!p.stands() || hurries(l.underWay)) {
		return nil, false, l.await()
	}
	u := usageOf(b)
	l.underWay.Add(u)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		l.underWay.Sub(u)
		l.wake(p.max)
	}, true, nil
}

// room is what a batch should have at most, in bytes: half of what its sender has room for, so that there is another while
// one is looked up.
func (p *pace) room(sender string) int {
	if p.max == 0 || p.workers == 0 {
		return math.MaxInt
	}
	const usual = 128 // bytes of JSON a sentence
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.backlog(sender).room(p.max) / 2 * usual)
}

// appended notes that a batch of a sender is durable.
func (p *pace) appended(sender string, w *split.Written) {
	if w.Stamp.IsZero() || p.workers == 0 {
		return
	}
	n := int64(0)
	for _, u := range w.BySource {
		n += u.Sentences
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backlog(sender).add(w.Stamp, n)
}

// spent is told of look-ups of a worker whose events are durable.
func (p *pace) spent(worker int, all []shard.Spent) {
	if p.workers == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range all {
		if l := p.backlogs[quota.Sender(all[i].Origin)]; l != nil {
			l.workers[worker].learn(&all[i])
			l.wake(p.max)
		}
	}
}

func (p *pace) backlog(sender string) *backlog {
	l := p.backlogs[quota.Sender(sender)]
	if l == nil {
		l = newBacklog(p.workers)
		p.backlogs[quota.Sender(sender)] = l
	}
	return l
}

// awaitPace holds a client's batch back for so long as it must wait. After patience it is refused, with ingest.ErrBehind.
func (q *quotas) awaitPace(ctx context.Context, b *ingest.Batch) (release func(), err error) {
	if q.pace.isOverdue() && len(b.Posts) > 0 {
		return nil, ingest.ErrOverdue
	}
	ctx, cancel := context.WithTimeout(ctx, q.pace.patience)
	defer cancel()
	if release, err = q.followPace(ctx, b, func(string) {}); err != nil {
		return nil, ingest.ErrBehind
	}
	return release, nil
}

// followPace holds a batch back as long as its sender's backlog is full, or its sender hurries and look-ups are behind.
// Meanwhile touch tells that its partition is silent, and not idle.
func (q *quotas) followPace(ctx context.Context, b *ingest.Batch, touch func(partition string)) (release func(), err error) {
	release, ok, changed := q.enter(b)
	if ok {
		return release, nil
	}
	defer q.countWait(b, time.Now())
	for !ok {
		touch(b.Partition)
		waitChange(ctx, changed)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		release, ok, changed = q.enter(b)
	}
	return release, nil
}

func waitChange(ctx context.Context, changed <-chan struct{}) {
	pause := time.NewTimer(pacePause)
	defer pause.Stop()
	select {
	case <-changed:
	case <-pause.C:
	case <-ctx.Done():
	}
}

// enter lets a batch in if it need not wait. Deletions never do: they cost no look-up.
func (q *quotas) enter(b *ingest.Batch) (release func(), ok bool, changed <-chan struct{}) {
	if len(b.Posts) == 0 {
		return func() {}, true, nil
	}
	from := quota.Sender(b.Sender)
	if q.pace.isOverdue() {
		return nil, false, nil
	}
	if q.pace.isBehind() && q.counted.Hurries(from, hurryWindow, quota.Usage{}) {
		return nil, false, nil
	}
	return q.pace.reserve(b, func(underWay quota.Usage) bool { return q.counted.Hurries(from, burstWindow, underWay) })
}

func (q *quotas) countWait(b *ingest.Batch, since time.Time) {
	of := which(&quota.Exceeded{Kind: quota.Sender(b.Sender).Kind(), Limit: limitPace})
	q.waits.Add(context.Background(), 1, of)
	q.waited.Add(context.Background(), time.Since(since).Seconds(), of)
}

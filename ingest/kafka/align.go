package kafka

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"refrain/feed"
)

// maxOutage is how long a partition that cannot be read holds the others back: a broker that restarts is back by then.
const maxOutage = time.Minute

// alignment keeps the partitions of a generation together in the times of their posts. Each is read at its own pace, days
// of a backlog in a second; one that the others leave further behind than the window waits (max_hold) would lose its
// matches. So no batch is handed on whose end is more than maxAhead beyond the first post that another partition has
// still to make durable.
//
// Nobody waits for a partition that was asked for records and had none, nor for one that could not be read for a while.
// A batch is half as long as maxAhead at most, so the partition that is furthest behind can always go on.
type alignment struct {
	maxAhead time.Duration

	mu      sync.Mutex
	lanes   []*lane
	changed chan struct{} // closed when one of them has changed
}

// lane is where one partition stands.
type lane struct {
	in     *alignment
	open   []*stretch
	end    feed.Time // of its last batch
	reads  bool      // it has records, or may have
	failed bool      // a batch was not made durable
}

// stretch is a batch that waits, or is handed on and not durable yet, from where its partition's clock stood.
type stretch struct{ begun feed.Time }

// Where a partition stands that has not been read yet, and where one does that holds nobody back.
const (
	beginning = feed.Time(math.MinInt64)
	never     = feed.Time(math.MaxInt64)
)

// newAlignment is for partitions that may get so far apart; 0: as far as they can.
func newAlignment(maxAhead time.Duration) *alignment {
	return &alignment{maxAhead: maxAhead, changed: make(chan struct{})}
}

// join adds a partition, before any is read.
func (a *alignment) join() *lane {
	l := &lane{in: a, end: beginning, reads: true}
	a.lanes = append(a.lanes, l)
	return l
}

// wait waits until a batch may be handed on. Whoever hands it on calls done when it is durable, or is not.
func (l *lane) wait(ctx context.Context, begun, end feed.Time) (done func(error), err error) {
	s := &stretch{begun}
	l.change(func() { l.open, l.end, l.reads = append(l.open, s), end, true })
	done = func(err error) { l.change(func() { l.close(s, err) }) }
	for {
		ok, changed := l.mayGo(end)
		if ok {
			return done, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			done(nil)
			return nil, ctx.Err()
		}
	}
}

// close takes a batch off. One that failed stays until it is read again.
func (l *lane) close(s *stretch, err error) {
	i := slices.Index(l.open, s)
	switch {
	case i < 0: // of before the restart
	case err != nil:
		l.failed = true
	default:
		l.open = slices.Delete(l.open, i, i+1)
	}
}

// leave notes that the partition has nothing to read, as far as anybody knows.
func (l *lane) leave() { l.change(func() { l.reads = false }) }

// restart notes that what failed, and all that was behind it, is read again.
func (l *lane) restart() { l.change(func() { l.open, l.end, l.failed = nil, beginning, false }) }

func (l *lane) change(how func()) {
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	how()
	close(l.in.changed)
	l.in.changed = make(chan struct{})
}

// mayGo reports whether no partition is too far behind a batch that ends there, and what is closed when that may have
// changed. After a failure it goes nowhere, and need not wait for that.
func (l *lane) mayGo(end feed.Time) (ok bool, changed <-chan struct{}) {
	a := l.in
	a.mu.Lock()
	defer a.mu.Unlock()
	isBehind := func(other *lane) bool {
		at := other.at()
		return at < never && end > at.Add(a.maxAhead)
	}
	return a.maxAhead == 0 || l.failed || !slices.ContainsFunc(a.lanes, isBehind), a.changed
}

// at is where the first post stands that the partition has still to make durable. It is called with mu locked.
func (l *lane) at() feed.Time {
	switch {
	case len(l.open) > 0:
		return slices.MinFunc(l.open, func(a, b *stretch) int { return cmp.Compare(a.begun, b.begun) }).begun
	case l.reads:
		return l.end
	default:
		return never
	}
}

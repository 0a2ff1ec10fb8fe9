package sigstore

import (
	"math"
	"time"

	"refrain/feed"
)

// clock is W, and what is late or may go by it.
type clock struct {
	span, lateness feed.Time
	now            feed.Time // W; 0 before it has started
	started        bool
	expired        feed.Time // what is older has been evicted for the budget
}

const minTime = feed.Time(math.MinInt64 / 4)

func newClock(span, lateness time.Duration) clock {
	return clock{span: feed.Time(span.Milliseconds()), lateness: feed.Time(lateness.Milliseconds()), expired: minTime}
}

// isPast reports whether the clock stands at t or later.
func (c *clock) isPast(t feed.Time) bool { return c.started && t <= c.now }

func (c *clock) set(t feed.Time) { c.now, c.started = t, true }

// lateBefore is the time before which a sentence is late: W - lateness.
func (c *clock) lateBefore() feed.Time { return c.nowOr(minTime) - c.lateness }

// horizon is the time before which occurrences have gone or may go: W - span - lateness, or later where the budget
// evicted more.
func (c *clock) horizon() feed.Time { return max(c.expired, c.lateBefore()-c.span) }

// evict notes that what is older than t was evicted.
func (c *clock) evict(t feed.Time) { c.expired = max(c.expired, t) }

// reach is how far back the window certainly reaches once some of it was evicted.
func (c *clock) reach() time.Duration { return time.Duration(c.now-c.expired) * time.Millisecond }

func (c *clock) nowOr(t feed.Time) feed.Time {
	if c.started {
		return c.now
	}
	return t
}

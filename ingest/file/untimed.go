package file

import (
	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// minRemembered is how many posts without a time a file remembers at least; twice as many at most.
const minRemembered = 1 << 17

// untimed gives posts without a time the one they were given when they came before: delivered again, a post changes
// nothing, and with a later time it would. It forgets the oldest, some 131,000 such posts back.
type untimed struct {
	current, previous map[uint64]feed.Time
}

// stamp returns the time of an earlier delivery of p's very text, or now.
func (u *untimed) stamp(p *feed.Post, now feed.Time) feed.Time {
	h := xxh3.HashStringSeed(p.Text, xxh3.HashStringSeed(p.ID, xxh3.HashString(p.Source)))
	if t, ok := u.current[h]; ok {
		return t
	}
	t, ok := u.previous[h]
	if !ok {
		t = now
	}
	if u.current == nil || len(u.current) >= minRemembered {
		u.previous, u.current = u.current, make(map[uint64]feed.Time)
	}
	u.current[h] = t
	return t
}

package feedtime

import (
	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// minRemembered is how many posts without a time a Stamper remembers at least; twice as many at most.
const minRemembered = 1 << 17

// Stamper gives posts without a time one: the greatest time of the posts before it, the year 1970 before there is one.
// Delivered again, such a post keeps the time that it was given first: with a later one it would be a further version. The
// oldest, some 131,000 such posts back, are forgotten. The zero value is ready; it is for one goroutine.
type Stamper struct {
	latest     feed.Time
	young, old map[uint64]feed.Time // of posts without a time, by their hash
}

// Stamp gives p its time, if it has none. Posts come in the order of the feed, those with a time too.
func (s *Stamper) Stamp(p *feed.Post) {
	if p.Timed {
		s.latest = max(s.latest, p.Time)
		return
	}
	p.Time = s.timeOf(p)
}

// timeOf is the time of an earlier delivery of p's very text, or the latest.
func (s *Stamper) timeOf(p *feed.Post) feed.Time {
	h := xxh3.HashStringSeed(p.Text, xxh3.HashStringSeed(p.ID, xxh3.HashString(p.Source)))
	if t, ok := s.young[h]; ok {
		return t
	}
	t, ok := s.old[h]
	if !ok {
		t = s.latest
	}
	if s.young == nil || len(s.young) >= minRemembered {
		s.old, s.young = s.young, make(map[uint64]feed.Time)
	}
	s.young[h] = t
	return t
}

// Package feedtime knows the times of a feed: how far it has got, and when a post was written that does not say.
package feedtime

import (
	"slices"

	"refrain/feed"
)

const (
	clockWindow   = 4096 // posts that the clock looks back
	clockShare    = 100  // one in so many of them has to have got so far
	minClockPosts = 3    // and never fewer than these
)

// Clock is the watermark of one source partition: the time that 1 % of the last 4,096 posts, and at least three,
// reach or exceed, so that one date in the future moves nothing. It never falls. The zero value is a clock that no
// post has been added to. Not safe for concurrent use.
//
// Because it never falls, posts at or before its time can never matter again. It keeps only the ones after, and
// those are always fewer than the 1 % that would move it: at most 40. So a post costs a search in a short list,
// not an order statistic over 4,096.
type Clock struct {
	time  feed.Time
	known bool
	posts int64   // added so far
	ahead []ahead // posts of the window after time, ascending
}

type ahead struct {
	time feed.Time
	post int64 // number of the post, from 1
}

// Add notes the time of one more post.
func (c *Clock) Add(t feed.Time) {
	c.posts++
	if c.known && t <= c.time {
		return
	}
	oldest := c.posts - clockWindow
	c.ahead = slices.DeleteFunc(c.ahead, func(a ahead) bool { return a.post <= oldest })
	i, _ := slices.BinarySearchFunc(c.ahead, t, func(a ahead, t feed.Time) int {
		if a.time <= t {
			return -1
		}
		return 1
	})
	c.ahead = slices.Insert(c.ahead, i, ahead{t, c.posts})
	c.advance()
}

// advance moves the clock when enough posts are ahead of it.
func (c *Clock) advance() {
	share := int((min(c.posts, clockWindow) + clockShare - 1) / clockShare)
	over := len(c.ahead) - max(share, minClockPosts)
	if over < 0 {
		return
	}
	c.time, c.known = c.ahead[over].time, true
	c.ahead = slices.DeleteFunc(c.ahead, func(a ahead) bool { return a.time <= c.time })
}

// Time is where the clock stands; false before the third post.
func (c *Clock) Time() (feed.Time, bool) { return c.time, c.known }

// Clone returns a clock that stands where c does, and goes on by itself: a copied value would share memory with c.
func (c *Clock) Clone() Clock {
	clone := *c
	clone.ahead = slices.Clone(c.ahead)
	return clone
}

package feedtime

import (
	"fmt"
	"testing"

	"refrain/feed"
)

func TestUntimedPostsKeepTheirFirstTime(t *testing.T) {
	var s Stamper
	stamp := func(p feed.Post, latest feed.Time) feed.Time {
		s.Stamp(&feed.Post{ID: "clock", Time: latest, Timed: true})
		s.Stamp(&p)
		return p.Time
	}
	post := func(i int) feed.Post { return feed.Post{ID: fmt.Sprint(i), Text: "text"} }
	first := post(0)
	if s.Stamp(&first); first.Time != 0 {
		t.Errorf("before any time at %d, want 0", first.Time)
	}
	if got := stamp(post(1), 10); got != 10 {
		t.Errorf("first delivery at %d, want 10", got)
	}
	if got := stamp(post(1), 20); got != 10 {
		t.Errorf("second delivery at %d, want 10", got)
	}
	if got := stamp(post(2), 15); got != 20 {
		t.Errorf("after a time of 20 and one of 15 at %d, want 20", got)
	}
	other := post(1)
	other.Text = "a further version"
	if got := stamp(other, 30); got != 30 {
		t.Errorf("further version at %d, want 30", got)
	}
	for i := range 3 * minRemembered {
		stamp(post(100+i), 40)
	}
	if n := len(s.young) + len(s.old); n > 2*minRemembered {
		t.Errorf("%d posts remembered, want at most %d", n, 2*minRemembered)
	}
	if got := stamp(post(100+3*minRemembered-1), 50); got != 40 {
		t.Errorf("a recent post again at %d, want 40", got)
	}
}

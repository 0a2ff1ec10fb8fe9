package file

import (
	"fmt"
	"testing"

	"refrain/feed"
)

func TestUntimedPostsKeepTheirFirstTime(t *testing.T) {
	var u untimed
	post := func(i int) *feed.Post { return &feed.Post{ID: fmt.Sprint(i), Text: "text"} }
	if got := u.stamp(post(1), 10); got != 10 {
		t.Errorf("first delivery at %d, want 10", got)
	}
	if got := u.stamp(post(1), 20); got != 10 {
		t.Errorf("second delivery at %d, want 10", got)
	}
	other := post(1)
	other.Text = "a further version"
	if got := u.stamp(other, 30); got != 30 {
		t.Errorf("further version at %d, want 30", got)
	}
	for i := range 3 * minRemembered {
		u.stamp(post(100+i), 40)
	}
	if n := len(u.current) + len(u.previous); n > 2*minRemembered {
		t.Errorf("%d posts remembered, want at most %d", n, 2*minRemembered)
	}
	if got := u.stamp(post(100+3*minRemembered-1), 50); got != 40 {
		t.Errorf("a recent post again at %d, want 40", got)
	}
}

package feedtime

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"refrain/feed"
)

// clockByDefinition sorts the window anew for every post.
func clockByDefinition(times []feed.Time) (clock feed.Time, known bool) {
	for n := minClockPosts; n <= len(times); n++ {
		window := slices.Clone(times[max(0, n-clockWindow):n])
		slices.Sort(window)
		rank := max(minClockPosts, (len(window)+clockShare-1)/clockShare)
		if t := window[len(window)-rank]; !known || t > clock {
			clock, known = t, true
		}
	}
	return clock, known
}

func TestClockIsTheWatermark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 3, 5, 99, 299, 300, 301, 350, 700}).Draw(t, "posts")
		spread := rapid.SampledFrom([]int64{0, 3, 1000}).Draw(t, "spread")
		var c Clock
		var times []feed.Time
		for i := range n {
			at := feed.Time(int64(i)*2 + rapid.Int64Range(-spread, spread).Draw(t, "off"))
			if rapid.IntRange(0, 60).Draw(t, "future") == 0 {
				at += 1_000_000
			}
			times = append(times, at)
			c.Add(at)
		}
		got, gotKnown := c.Time()
		want, wantKnown := clockByDefinition(times)
		if got != want || gotKnown != wantKnown {
			t.Fatalf("got %d %v, want %d %v", got, gotKnown, want, wantKnown)
		}
	})
}

// TestClockForgets: dates in the future move nothing while they are fewer than 1 % of the window, however many
// come in all.
func TestClockForgets(t *testing.T) {
	var c Clock
	for i := range 10 * clockWindow {
		at := feed.Time(i)
		if i > clockWindow && i%103 == 0 { // at most 40 of any 4,096
			at = 1e12
		}
		c.Add(at)
	}
	if got, _ := c.Time(); got < 9*clockWindow || got >= 10*clockWindow {
		t.Errorf("got %d, want a time of the last posts and not of the future", got)
	}
}

func TestClockNeedsThreePosts(t *testing.T) {
	var c Clock
	c.Add(5)
	c.Add(9)
	if got, known := c.Time(); known {
		t.Errorf("got %d after two posts, want none", got)
	}
	c.Add(7)
	if got, known := c.Time(); !known || got != 5 {
		t.Errorf("got %d %v, want 5", got, known)
	}
}

func BenchmarkClock(b *testing.B) {
	var c Clock
	for i := range b.N {
		c.Add(feed.Time(i))
	}
}

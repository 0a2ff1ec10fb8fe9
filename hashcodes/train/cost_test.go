package train

import "testing"

// TestChanceIsNoGain: counts of rare things differ without a reason.
func TestChanceIsNoGain(t *testing.T) {
	for _, c := range []struct {
		before, after int
		want          bool
	}{{16, 12, false}, {27, 15, false}, {1000, 960, false}, {1000, 900, true}, {126, 70, true}, {0, 0, false},
		{100, 120, false}} {
		if got := (Cost{Queries: 1000, False: c.after}).Beats(Cost{Queries: 1000, False: c.before}); got != c.want {
			t.Errorf("%d false candidates before, %d after: better is %v", c.before, c.after, got)
		}
	}
}

package shard

import (
	"fmt"
	"testing"
	"time"

	"refrain/feed"
)

// slowRows take a hundredth of a second for each look-up, on the clock of the route.
type slowRows struct {
	Rows
	r       *route
	lookups int
}

func (s *slowRows) EachNewMatch(x *feed.Sentence, found func(*feed.Match)) {
	s.lookups++
	s.r.now = s.r.now.Add(10 * time.Millisecond)
	s.Rows.EachNewMatch(x, found)
}

// TestTurnsStayShort: where look-ups are slow, turns have few of them; and all are done.
func TestTurnsStayShort(t *testing.T) {
	if testing.Short() {
		t.Skip("long: runs without -short")
	}
	const posts = 5000
	r := newRoute(t, 1)
	for i := range posts {
		r.post(fmt.Sprint(i), fmt.Sprintf("a%d b%[1]d c%[1]d d%[1]d e%[1]d", i/2), time.Duration(i)*time.Millisecond)
	}
	cfg := r.config(0)
	rows := &slowRows{r: r}
	open := cfg.Rows
	cfg.Rows = func(q int) (Rows, error) {
		inner, err := open(q)
		rows.Rows = inner
		return rows, err
	}
	w := r.mustOpen(cfg)
	w.bound = 0 // as a worker starts
	var longest time.Duration
	for turn := 0; rows.lookups < posts; turn++ {
		begin := r.now
		r.mustStep(w)
		longest = max(longest, r.now.Sub(begin))
		if turn > posts {
			t.Fatalf("%d look-ups in %d turns", rows.lookups, turn)
		}
	}
	if longest > 2*turnTime || longest == 0 {
		t.Errorf("a turn takes %v", longest)
	}
	if got := len(r.out()); got != posts/2 {
		t.Errorf("%d events, want %d", got, posts/2)
	}
}

// TestTurnsGrowAgain when look-ups are quick, and there is more and more to do; after few they are short again.
func TestTurnsGrowAgain(t *testing.T) {
	b := turnBound(minTurnSentences)
	for range 100 {
		b.fit(int(b), time.Millisecond)
	}
	if b != maxTurnSentences {
		t.Errorf("%d sentences after a hundred quick turns", b)
	}
	b.fit(0, time.Hour)
	if b != maxTurnSentences {
		t.Errorf("%d sentences after a turn of none", b)
	}
	if b.fit(3, time.Millisecond); b != minTurnSentences {
		t.Errorf("%d sentences after a turn of three", b)
	}
}

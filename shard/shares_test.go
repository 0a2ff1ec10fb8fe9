package shard

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"refrain/feed"
)

// dearRows take a second, on the clock of the route, for each look-up of a post of mallory's.
type dearRows struct {
	Rows
	r *route
}

func (d *dearRows) look(x *feed.Sentence, found func(*feed.Match), by lookupFunc) {
	if x.Source == "mallory" {
		d.r.now = d.r.now.Add(time.Second)
	}
	by(x, found)
}

func (d *dearRows) EachNewMatch(x *feed.Sentence, found func(*feed.Match)) {
	d.look(x, found, d.Rows.EachNewMatch)
}

func (d *dearRows) EachMatch(x *feed.Sentence, found func(*feed.Match)) {
	d.look(x, found, d.Rows.EachMatch)
}

// from writes posts as their source, all of the same five words and one of their own.
func (r *route) from(source, text string, n int) {
	r.tb.Helper()
	posts := make([]feed.Post, n)
	for i := range posts {
		posts[i] = feed.Post{Source: source, ID: fmt.Sprint(i), Text: fmt.Sprintf("%s %d", text, i), Time: feed.Time(1_690_000_000_000 + int64(n-i)), Timed: true}
	}
	if _, err := r.split.WriteFrom(context.Background(), "token:"+source, posts, "s"); err != nil {
		r.tb.Fatal(err)
	}
}

// mustOpenDear opens a worker of one partition on dearRows.
func (r *route) mustOpenDear(share time.Duration) *Worker {
	cfg := r.config(0)
	cfg.Share = share
	open := cfg.Rows
	cfg.Rows = func(q int) (Rows, error) {
		inner, err := open(q)
		return &dearRows{inner, r}, err
	}
	return r.mustOpen(cfg)
}

func (r *route) mustStepUntil(w *Worker, what string, done func() bool) {
	r.tb.Helper()
	for turn := 0; !done(); turn++ {
		if turn > 1000 {
			r.tb.Fatalf("a thousand turns, and not %s", what)
		}
		r.mustStep(w)
	}
}

func (w *Worker) isIdle() bool {
	_, waits := w.oldest()
	return !waits
}

const mallorys = 200

// TestNobodyWaitsForAnothersLookUps: one sender's look-ups take minutes, those of another, who comes after him, do not wait
// for more than a share of them; and all the events are found.
func TestNobodyWaitsForAnothersLookUps(t *testing.T) {
	r := newRoute(t, 1, true)
	w := r.mustOpenDear(100 * time.Millisecond)
	begin := r.now
	r.from("mallory", "one two three four five six seven eight nine ten", mallorys)
	r.mustStep(w)
	r.from("honest", "alpha beta gamma delta epsilon zeta eta theta iota kappa", 2)
	found := func() bool {
		for id := range maps.Values(r.sources()) {
			if id == "honest" {
				return true
			}
		}
		return false
	}
	r.mustStepUntil(w, "an honest event", found)
	if waited := r.now.Sub(begin); waited > 4*time.Second {
		t.Errorf("an honest event comes %v after its post", waited)
	}
	if own, other := w.Lag("token:mallory"), w.Lag("token:honest"); own < time.Second || other > 4*time.Second {
		t.Errorf("behind by %v for the one who is late, and by %v for the other", own, other)
	}
	r.mustStepUntil(w, "all that waits", w.isIdle)
	if n := len(r.ids()); n != mallorys*(mallorys-1)/2+1 {
		t.Errorf("%d events, want each of the %d of mallory to repeat those before it, and one of honest", n, mallorys)
	}
}

// sources are those of the later posts, by event.
func (r *route) sources() map[feed.Hash]string {
	all := map[feed.Hash]string{}
	for _, e := range r.out() {
		m, err := feed.DecodeEvent([]byte(e))
		if err != nil {
			r.tb.Fatal(err)
		}
		all[m.ID] = m.Later.Source
	}
	return all
}

// TestLateLookUpsAreDoneAgain: a worker that ends while look-ups are late has not stored them as done.
func TestLateLookUpsAreDoneAgain(t *testing.T) {
	r := newRoute(t, 1, true)
	w := r.mustOpenDear(0)
	r.from("mallory", "one two three four five six seven eight nine ten", mallorys)
	r.from("honest", "alpha beta gamma delta epsilon zeta eta theta iota kappa", 2)
	for range 10 {
		r.mustStep(w)
	}
	if w.isIdle() {
		t.Fatal("nothing waits")
	}
	w.Close()
	w = r.mustOpenDear(time.Hour)
	r.mustStepUntil(w, "all that waits", func() bool { return w.isIdle() && len(r.ids()) == mallorys*(mallorys-1)/2+1 })
}

package shard

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
	"refrain/topic"
)

// mustFly writes a pair of canaries.
func (r *route) mustFly(pair uint64) {
	r.tb.Helper()
	c := r.split.NewCanary(pair)
	for range 2 {
		if err := r.split.WriteCanary(context.Background(), c); err != nil {
			r.tb.Fatal(err)
		}
	}
}

// insertions are rows that know what was put into them, and count look-ups of posts and of canaries.
type insertions struct {
	Rows
	inserted        map[string]int
	lookups, probes int
}

func (i *insertions) Insert(x *feed.Sentence) bool {
	i.inserted[x.Post]++
	return i.Rows.Insert(x)
}

func (i *insertions) EachMatch(x *feed.Sentence, found func(*feed.Match)) {
	i.lookups++
	i.Rows.EachMatch(x, found)
}

func (i *insertions) EachNewMatch(x *feed.Sentence, found func(*feed.Match)) {
	i.lookups++
	i.Rows.EachNewMatch(x, found)
}

func (i *insertions) Probe(x *feed.Sentence) {
	i.probes++
	i.Rows.Probe(x)
}

// seen is all that a feed leaves behind: events, rows, look-ups, clocks and what was observed of their writers.
type seen struct {
	Events   []string
	Inserted map[string]int
	Lookups  int
	Clock    feed.Time
	Elapsed  []int64
	Newest   []int64
	Mets     int
}

// flight is a feed with canaries before and behind every post, or without.
type flight struct{ ordered, canaries bool }

// run runs the feed, with breaks of half an hour, past some workers' turns.
func (f flight) run(t *testing.T) (s seen, probes, through int) {
	t.Helper()
	r := newRouteOver(t, memoryOf(2, f.ordered))
	cfg := r.config(0, 1)
	rows := &insertions{inserted: map[string]int{}}
	make := cfg.Rows
	cfg.Rows = func(q int) (Rows, error) {
		of, err := make(q)
		return &insertions{Rows: of, inserted: rows.inserted}, err
	}
	cfg.Canary = func(Canary) { through++ }
	w := r.mustOpen(cfg)
	for i := range 20 {
		if f.canaries {
			r.mustFly(uint64(2 * i))
			r.mustStep(w)
		}
		r.post(fmt.Sprint(i), words, time.Duration(i)*time.Minute)
		r.mustStep(w)
		if f.canaries {
			r.mustFly(uint64(2*i + 1))
		}
		r.mustStep(w)
		if i == 10 { // nobody posts; canaries go on, and nobody is considered dead
			for range 40 {
				r.now = r.now.Add(time.Minute)
				if f.canaries {
					r.mustFly(1000)
				}
				r.mustStep(w)
			}
		}
	}
	for _, q := range w.owned {
		of := q.rows.(*insertions)
		s.Lookups, probes = s.Lookups+of.lookups, probes+of.probes
		s.Clock, _ = q.state.Watermarks.Clock()
		s.Elapsed, s.Newest = append(s.Elapsed, q.state.Watermarks.elapsed...), append(s.Newest, q.state.Watermarks.newest...)
		s.Mets += len(q.state.Watermarks.writers)
	}
	s.Events, s.Inserted = r.out(), rows.inserted
	return s, probes, through
}

// TestCanariesChangeNothing: events, windows, look-ups and clocks are those of a feed without them. They are looked up all
// the same, by everybody, and come through.
func TestCanariesChangeNothing(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		want, none, _ := flight{ordered: ordered}.run(t)
		got, probes, through := flight{ordered: ordered, canaries: true}.run(t)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ordered %t: %s", ordered, diff)
		}
		if len(want.Events) != 19 || want.Mets == 0 {
			t.Fatalf("ordered %t: the feed says nothing: %+v", ordered, want)
		}
		const pairs = 2*20 + 40
		if none != 0 || probes != pairs*2*2*2 || through != pairs*2 {
			t.Errorf("ordered %t: %d probes, %d came through, want %d and %d", ordered, probes, through, pairs*8, pairs*2)
		}
	}
}

// TestCanaryOfAnEarlierStart: what was passed before is not reported again, and a second post whose first one is
// unknown finds nothing.
func TestCanaryOfAnEarlierStart(t *testing.T) {
	r := newRoute(t, 1)
	cfg := r.config(0)
	var through []Canary
	cfg.Canary = func(c Canary) { through = append(through, c) }
	w := r.mustOpen(cfg)
	r.mustFly(1)
	half := r.split.NewCanary(2)
	if err := r.split.WriteCanary(t.Context(), half); err != nil {
		t.Fatal(err)
	}
	r.mustStep(w)
	if len(through) != 1 || through[0].Pair != 1 || through[0].Writer != r.split.Writer() || !through[0].Second {
		t.Fatalf("got %+v, want the first pair", through)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = r.mustOpen(cfg)
	if err := r.split.WriteCanary(t.Context(), half); err != nil {
		t.Fatal(err)
	}
	r.mustStep(w)
	if len(through) != 1 {
		t.Errorf("got %+v, want no more", through[1:])
	}
}

// TestCanaryWaitsForEventsBeforeIt: it says that they are durable.
func TestCanaryWaitsForEventsBeforeIt(t *testing.T) {
	r := newRoute(t, 1)
	cfg := r.config(0)
	through := 0
	cfg.Canary = func(Canary) { through++ }
	cfg.Events = fullTopic{r.events}
	w := r.mustOpen(cfg)
	r.post("a", words, 0)
	r.post("b", words, time.Minute)
	r.mustFly(1)
	for n := 1; n <= 4; n++ {
		if err := w.Step(context.Background()); err == nil {
			t.Fatal("the turn does not fail")
		}
		if got := w.Trouble(); got == nil || got.Failures != n || got.Err == nil {
			t.Fatalf("after %d failures: %+v", n, got)
		}
	}
	r.now = r.now.Add(time.Hour)
	if wait := w.Waits(); through != 0 || wait < time.Hour {
		t.Errorf("%d canaries came through, the oldest record waits for %v", through, wait)
	}
	w.outbox.topic = r.events
	r.mustStep(w)
	if through != 1 || w.Trouble() != nil || w.Waits() != 0 {
		t.Errorf("%d came through; trouble %+v; waits %v", through, w.Trouble(), w.Waits())
	}
}

// TestCanariesOfSeveralWriters: their posts come between each other's, and each pair is found. Firsts without a second are
// forgotten after a while.
func TestCanariesOfSeveralWriters(t *testing.T) {
	var w canaryWindow
	post := func(c topic.Canary) {
		c.Pair = 7
		w.compare(0, &c, &feed.Sentence{Group: feed.Hash{byte(c.Writer)}})
	}
	for _, second := range []bool{false, true} {
		for writer := range uint64(3) {
			post(topic.Canary{Writer: writer, Second: second})
		}
	}
	if len(w.through) != 3 || len(w.firsts) != 0 {
		t.Errorf("%d of 3 pairs came through, %d firsts are left", len(w.through), len(w.firsts))
	}
	for writer := range uint64(10 * maxCanaryWriters) {
		post(topic.Canary{Writer: writer})
	}
	if len(w.firsts) != maxCanaryWriters {
		t.Errorf("%d firsts are held, want %d", len(w.firsts), maxCanaryWriters)
	}
	post(topic.Canary{Writer: 0, Second: true})
	post(topic.Canary{Writer: 10*maxCanaryWriters - 1, Second: true})
	if len(w.through) != 4 {
		t.Errorf("%d came through, want the newest too", len(w.through))
	}
}

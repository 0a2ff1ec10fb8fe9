package shard

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"refrain/feed"
)

func mustRedeliveries(tb testing.TB, within time.Duration, budget int64) (*Redeliveries, *bytes.Buffer) {
	tb.Helper()
	var log bytes.Buffer
	r, err := NewRedeliveries(RedeliveryConfig{Partitions: 1, Within: within, Budget: budget,
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		tb.Fatal(err)
	}
	return r, &log
}

func mustListen(tb testing.TB, r *Redeliveries, from observePoint) *observer {
	tb.Helper()
	l, ok := r.addObserver([]observePoint{from}, []int64{from.position}, []int64{from.position})
	if !ok {
		tb.Fatalf("%+v is past", from)
	}
	l.start([]int64{from.position})
	return l
}

// untimedPost is a sentence of a post without a time.
func untimedPost(id string) []feed.Sentence { return []feed.Sentence{{Post: id, Untimed: true}} }

const minute = int64(time.Minute)

// TestRedelivered: what counts is the highest stamp so far, and the last record before, not the first.
func TestRedelivered(t *testing.T) {
	r, _ := mustRedeliveries(t, 12*time.Minute, 0)
	mustListen(t, r, observePoint{})
	for position, record := range []struct {
		post   string
		minute int64
		want   bool
	}{
		{"a", 100, false}, {"a", 100, true}, {"b", 101, false}, {"a", 112, true}, {"a", 124, true}, {"b", 124, false},
		{"c", 50, false}, {"c", 136, true}, {"a", 137, false},
	} {
		got := r.observe(0, int64(position), record.minute*minute, untimedPost(record.post)) != nil
		if got != record.want {
			t.Errorf("%d: %q at minute %d: redelivered %v, want %v", position, record.post, record.minute, got, record.want)
		}
	}
}

// TestRedeliveryIsOfOneSentence: of one source, post, version and index.
func TestRedeliveryIsOfOneSentence(t *testing.T) {
	r, _ := mustRedeliveries(t, time.Hour, 0)
	mustListen(t, r, observePoint{})
	others := []feed.Sentence{
		{Post: "a", TimeAdjusted: true}, {Source: "a", TimeAdjusted: true}, {Post: "a", Version: 1, Untimed: true},
		{Post: "a", Index: 1, Untimed: true}, {Source: "b", Post: "a"},
	}
	if got := r.observe(0, 0, minute, others); got != nil {
		t.Errorf("got %v, want none", got)
	}
	others[1].TimeAdjusted = false // its time has come
	others[3].Untimed = false      // it has one now: a further version
	if got, want := fmt.Sprint(r.observe(0, 1, minute, others)), "[true true true false false]"; got != want {
		t.Errorf("once more: got %s, want %s", got, want)
	}
}

// TestHeardAgain compares what a worker decides that begins where a state starts with what is decided by one that has
// observed all, for every state and every record after it.
func TestHeardAgain(t *testing.T) {
	const records = 400
	seeds := uint64(20)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 0))
		ids, stamps, at := make([]string, records), make([]int64, records), 1000*minute
		for i := range records {
			at += rnd.Int64N(minute)
			if ids[i] = fmt.Sprint(rnd.IntN(8)); rnd.IntN(20) == 0 {
				at += 20 * minute
			}
			stamps[i] = at - rnd.Int64N(2*minute) // writers' clocks differ
		}
		hear := func(r *Redeliveries, i int) bool {
			s := untimedPost(ids[i])
			s[0].Untimed = i%100 < 60 // there are times without any
			return r.observe(0, int64(i), stamps[i], s) != nil
		}
		all, _ := mustRedeliveries(t, 6*time.Minute, 0)
		l := mustListen(t, all, observePoint{})
		var want []bool
		var states []observePoint // to decide what lies at need[i] and behind it
		var need []int
		for i := range records {
			need = append(need, max(0, i-rnd.IntN(60)))
			if i > 0 {
				need[i] = max(need[i], need[i-1])
			}
			states = append(states, all.from(0, int64(need[i])))
			want = append(want, hear(all, i))
			l.passed([]int64{int64(i)}, []int64{int64(need[i])})
		}
		for i, from := range states {
			r, _ := mustRedeliveries(t, 6*time.Minute, 0)
			mustListen(t, r, from)
			for n := int(from.position); n < records; n++ {
				if got := hear(r, n); n >= need[i] && got != want[n] {
					t.Fatalf("seed %d, state %d, heard from %+v: record %d is %v, want %v", seed, i, from, n, got, want[n])
				}
			}
		}
		if n := len(all.parts[0].trail); n > 60 {
			t.Errorf("seed %d: %d steps remembered", seed, n)
		}
	}
}

// TestNothingToHear: where no post is without a time, a state goes on where the look-ups stand.
func TestNothingToHear(t *testing.T) {
	r, _ := mustRedeliveries(t, time.Hour, 0)
	mustListen(t, r, observePoint{})
	for i := range int64(100) {
		r.observe(0, i, i*minute, []feed.Sentence{{Post: "a"}})
	}
	if got, want := r.from(0, 100), (observePoint{100, 99 * minute}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if n := r.Bytes(); n != 0 {
		t.Errorf("%d bytes held", n)
	}
}

// TestWorkersShareRedeliveries: whoever reads a record first decides, and the other gets the same answer as long as it
// may ask.
func TestWorkersShareRedeliveries(t *testing.T) {
	r, _ := mustRedeliveries(t, time.Hour, 0)
	quick, slow := mustListen(t, r, observePoint{}), mustListen(t, r, observePoint{})
	for i := range int64(6) {
		r.observe(0, i, i*minute, untimedPost("a"))
	}
	quick.passed([]int64{6}, []int64{6})
	slow.passed([]int64{3}, []int64{3})
	for i := range int64(6) {
		if got, want := r.observe(0, i, i*minute, untimedPost("a")) != nil, i >= 3; got != want {
			t.Errorf("record %d: %v, want %v", i, got, want)
		}
	}
	if _, ok := r.addObserver([]observePoint{{position: 2}}, []int64{2}, []int64{2}); ok {
		t.Error("a worker comes back to what is forgotten")
	}
	if _, ok := r.addObserver([]observePoint{{position: 4}}, []int64{4}, []int64{4}); !ok {
		t.Error("a worker that comes later is not let in")
	}
	slow.leave()
}

// TestRedeliveriesWithinBudget: what has no room is forgotten, the oldest first, and that is logged.
func TestRedeliveriesWithinBudget(t *testing.T) {
	const budget = 16 << 10
	r, log := mustRedeliveries(t, time.Hour, budget)
	mustListen(t, r, observePoint{})
	for i := range int64(20_000) {
		r.observe(0, i, i*int64(time.Second), untimedPost(fmt.Sprint(i)))
		if n := r.Bytes(); n > budget {
			t.Fatalf("%d bytes", n)
		}
	}
	if r.observe(0, 20_000, 20_000*int64(time.Second), untimedPost("19999")) == nil {
		t.Error("the last is forgotten")
	}
	if !strings.Contains(log.String(), "taken for further versions") {
		t.Errorf("logged %q", log)
	}
}

// BenchmarkRedeliveries observes 1,000 sentences without a time a second, for two hours, in one partition.
func BenchmarkRedeliveries(b *testing.B) {
	const perSecond, seconds = 1000, 2 * 3600
	for b.Loop() {
		r, _ := mustRedeliveries(b, time.Hour, 0)
		mustListen(b, r, observePoint{})
		var peak int64
		var hearing time.Duration
		batch := make([]feed.Sentence, perSecond)
		for i := range int64(seconds) {
			for n := range batch {
				batch[n] = feed.Sentence{Source: "x", Post: fmt.Sprint(i*perSecond + int64(n)), Untimed: true}
			}
			begin := time.Now()
			r.observe(0, i, i*int64(time.Second), batch)
			hearing += time.Since(begin)
			peak = max(peak, r.Bytes())
		}
		b.ReportMetric(float64(peak), "bytes")
		b.ReportMetric(float64(hearing.Nanoseconds())/(perSecond*seconds), "ns/sentence")
	}
}

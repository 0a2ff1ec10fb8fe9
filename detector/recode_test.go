package detector_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/text"
)

// models are some whose signatures differ in length and fill, one of them with codes of its own.
func models(tb testing.TB) []*hashcodes.Model {
	tb.Helper()
	var entries []hashcodes.Entry
	for id := range uint64(30) {
		entries = append(entries, hashcodes.Entry{Token: id, Frequency: 1, Positions: []uint8{uint8(id % 3)}})
	}
	entries[1].Positions = nil
	learned, err := hashcodes.New(hashcodes.Description{Bits: 32, Ones: 1, Learner: "test", TextVersion: text.Version}, entries)
	if err != nil {
		tb.Fatal(err)
	}
	return []*hashcodes.Model{mustModel(tb, 64, 1), learned, mustModel(tb, 32, 3), mustModel(tb, 256, 2)}
}

// TestRecodingChangesNoEvent: codes change again and again, in the midst of insertions, expiry and each other, for
// rows that come, go, move on and are numbered anew.
func TestRecodingChangesNoEvent(t *testing.T) {
	all := models(t)
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				cfg := drawConfig(r, t)
				cfg.Engine, cfg.Lateness = engine, 2*time.Second
				feed := jitter(r, randomFeed(r), cfg.Lateness)
				d, err := detector.NewPartition(cfg)
				if err != nil {
					r.Fatal(err)
				}
				got := detectRecoding(r, d, feed, all)
				compare(r, ids(got), want(feed, cfg))
			})
		})
	}
}

func detectRecoding(r *rapid.T, d *detector.Partition, all []feed.Sentence, models []*hashcodes.Model) (got []feed.Match) {
	var clock feed.Time
	var to *hashcodes.Model
	for batch := range slices.Chunk(all, 4) {
		if rapid.IntRange(0, 5).Draw(r, "begin") == 0 {
			to = rapid.SampledFrom(models).Draw(r, "model")
			d.Recode(to)
		}
		if more := d.RecodeSome(rapid.IntRange(0, 20).Draw(r, "rows")); !more && to != nil && d.Model() != to {
			r.Fatalf("the window has the codes of %s, want %s", d.Model().Name(), to.Name())
		}
		var ahead []*feed.Sentence
		for i := range batch {
			ahead = append(ahead, &batch[i])
		}
		d.Expect(ahead)
		for _, x := range ahead {
			if !d.Has(x) {
				got = d.LookupNew(got, x)
				d.Insert(x)
			}
			clock = max(clock, x.Time)
		}
		d.Advance(clock)
	}
	return got
}

// distinctSentences are of distinct words, but for every tenth, which repeats the one before it.
func distinctSentences(n int) (all []feed.Sentence) {
	for i := range n {
		seed := uint64(i-i%10/9) * 8
		all = append(all, sentence(feed.Time(i), "p"+string(rune('a'+i%26))+time.Duration(i).String(), 0, uint64(i), seed+1, seed+2, seed+3, seed+4, seed+5))
	}
	return all
}

// TestRecodingInARebuiltWindow: after a flood has gone the window numbers its words anew, in the midst of a change.
func TestRecodingInARebuiltWindow(t *testing.T) {
	cfg := detector.Config{Threshold: text.Threshold{Num: 4, Den: 5}, Span: time.Second, Model: mustModel(t, 64, 1)}
	all := distinctSentences(6000)
	for i := range all[5000:] {
		all[5000+i].Time += feed.Time(50 * i)
	}
	want := want(all, cfg)
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			cfg := cfg
			cfg.Engine = engine
			d, err := detector.NewPartition(cfg)
			if err != nil {
				t.Fatal(err)
			}
			to := mustModel(t, 32, 1)
			var got []feed.Match
			for i := range all {
				got = d.LookupNew(got, &all[i])
				d.Insert(&all[i])
				d.Advance(all[i].Time)
				if i == 4900 {
					d.Recode(to)
				}
				if i > 4900 {
					d.RecodeSome(5)
				}
			}
			for d.RecodeSome(100) {
			}
			if d.Model() != to {
				t.Errorf("codes of %s, want %s", d.Model().Name(), to.Name())
			}
			compare(t, ids(got), want)
		})
	}
}

// TestNoRecodingBeyondTheBudget: two indexes need more than one. Where the budget does not allow that the change is given
// up, and no text is dropped for it.
func TestNoRecodingBeyondTheBudget(t *testing.T) {
	all := distinctSentences(5000)
	cfg := detector.Config{Threshold: text.Threshold{Num: 4, Den: 5}, Span: time.Hour, Model: mustModel(t, 64, 1), Engine: engines["prefix"]}
	fill := func(budget int64) *detector.Partition {
		cfg.Budget = budget
		d, err := detector.NewPartition(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			d.Insert(&all[i])
		}
		return d
	}
	holds := fill(0).Stats().Bytes
	for _, budget := range []int64{holds + holds/20, 3 * holds} {
		d := fill(budget)
		before, to := d.Stats(), mustModel(t, 32, 1)
		d.Recode(to)
		for d.RecodeSome(50) {
		}
		after := d.Stats()
		if after.Groups != before.Groups || after.Counts.Forced != before.Counts.Forced {
			t.Errorf("budget %d: %d texts after %d, %d forced out", budget, after.Groups, before.Groups, after.Counts.Forced)
		}
		if changed := d.Model() == to; changed != (budget > 2*holds) {
			t.Errorf("budget %d of %d: changed is %v", budget, holds, changed)
		}
		if after.Bytes > budget {
			t.Errorf("%d bytes, budget %d", after.Bytes, budget)
		}
	}
}

package detector_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/oracle"
	"refrain/sigstore"
	"refrain/text"
)

// floodedFeed is a random feed with variants of one text among its sentences: eight common words and one of their own.
func floodedFeed(t *rapid.T) []feed.Sentence {
	all := randomFeed(t)
	for n := range rapid.IntRange(0, 80).Draw(t, "variants") {
		at := feed.Time(rapid.IntRange(0, 50).Draw(t, "time of a variant") * 1000)
		all = append(all, sentence(at, fmt.Sprint("v", n), 0, 0, 101, 102, 103, 104, 105, 106, 107, 108, uint64(200+n)))
	}
	return rapid.Permutation(all).Draw(t, "arrival")
}

// partners are the texts that a look-up reports something of, by their words.
func partners(x *feed.Sentence, matches []feed.Match) map[string]bool {
	texts := map[string]bool{}
	for i := range matches {
		other := matches[i].Earlier.Text // x repeats it
		if matches[i].Group == x.Group { // it repeats x, or both have the same words
			other = matches[i].Later.Text
		}
		texts[other] = true
	}
	return texts
}

// laterOnes is how many of the matches of x are occurrences that it makes repeats.
func laterOnes(x *feed.Sentence, matches []feed.Match) (n int) {
	for i := range matches {
		if l := &matches[i].Later; l.Post != x.Post || l.Source != x.Source {
			n++
		}
	}
	return n
}

// TestLimits: a look-up that matches no more groups, and no more later occurrences, than it may report reports what one
// without limits does. One that matches more reports as many of them as it may in a flood, its own first, and says so.
func TestLimits(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				cfg := drawConfig(r, t)
				cfg.Engine = engine
				limited := cfg
				limited.MaxMatches = rapid.IntRange(1, 20).Draw(r, "max matches")
				limited.Flood = rapid.IntRange(1, limited.MaxMatches).Draw(r, "flood")
				limited.MaxLater, limited.FloodLater = limited.MaxMatches, limited.Flood
				d, err := detector.NewPartition(cfg)
				if err != nil {
					r.Fatal(err)
				}
				l, err := detector.NewPartition(limited)
				if err != nil {
					r.Fatal(err)
				}
				truncated := int64(0)
				all := floodedFeed(r)
				expect := make([]*feed.Sentence, len(all))
				for i := range all {
					expect[i] = &all[i]
				}
				l.Expect(expect) // and so asks some of them at once
				for _, x := range expect {
					want, got := d.Lookup(nil, x), l.Lookup(nil, x)
					d.Insert(x)
					l.Insert(x)
					if max(len(partners(x, want)), laterOnes(x, want)) <= limited.MaxMatches {
						compare(r, ids(got), oracle.Sorted(ids(want)))
						continue
					}
					truncated++
					checkTruncated(r, x, got, want, limited.Flood)
				}
				if got := l.Counts().Truncated; got != truncated {
					r.Fatalf("%d look-ups counted as truncated, want %d", got, truncated)
				}
			})
		})
	}
}

func checkTruncated(r *rapid.T, x *feed.Sentence, got, want []feed.Match, flood int) {
	may := map[feed.Hash]bool{}
	own := false
	for i := range want {
		may[want[i].ID] = true
		own = own || want[i].Jaccard == 1
	}
	texts := partners(x, got)
	if all := len(partners(x, want)); len(texts) != min(flood, all) {
		r.Fatalf("%d groups reported, want %d of %d", len(texts), flood, all)
	}
	// One of each group, and others up to the limit.
	if n := laterOnes(x, got); n > 2*flood {
		r.Fatalf("%d later occurrences reported, want %d at most", n, 2*flood)
	}
	if own && got[0].Jaccard != 1 {
		r.Fatalf("the first event is of another group: %+v", got[0])
	}
	for i := range got {
		if !got[i].Truncated || !may[got[i].ID] {
			r.Fatalf("event %+v: want it truncated, and among those without a limit", got[i])
		}
	}
}

// TestSearchStops: in a flood a window's index gives not much more than is enough, and says that there may be others.
func TestSearchStops(t *testing.T) {
	const variants, enough = 5000, 10
	for _, name := range []string{"scan", "prefix"} {
		t.Run(name, func(t *testing.T) {
			model := mustModel(t, 64, 1)
			bounds := hashcodes.NewBounds(text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), 1)
			w := sigstore.New(sigstore.Config{Span: time.Hour, Model: model, Bounds: bounds, Engine: engines[name](bounds, model), StopAfter: enough})
			variant := func(n int) *feed.Sentence {
				x := sentence(0, fmt.Sprint("v", n), 0, 0, 101, 102, 103, 104, 105, 106, 107, 108, 109, uint64(200+n))
				return &x
			}
			for n := range variants {
				w.Insert(variant(n))
			}
			// A chunk of a list and a pass over a band are not left in the middle.
			if groups, q := w.Searcher().Search(variant(variants)); len(groups) < enough || len(groups) > enough+400 || !q.Cut {
				t.Errorf("%d groups, cut %v: want %d and a few, cut", len(groups), q.Cut, enough)
			}
			if groups, q := w.Searcher().SearchAll(variant(variants)); len(groups) != variants || q.Cut {
				t.Errorf("%d groups of all, cut %v: want %d", len(groups), q.Cut, variants)
			}
		})
	}
}

// TestLaterOccurrencesAreLimited: a post dated before thousands of copies of it makes all of them repeats, and reports a
// few. At the limit, all.
func TestLaterOccurrencesAreLimited(t *testing.T) {
	const limit, flood = 100, 10
	for _, test := range []struct {
		name         string
		copies, want int
		variant      bool
	}{
		{name: "as many as may be", copies: limit, want: limit},
		{name: "too many", copies: limit + 1, want: flood},
		{name: "far too many", copies: 20 * limit, want: flood},
		{name: "too many of another text", copies: limit + 1, want: flood, variant: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := detector.Default()
			cfg.Span, cfg.MaxLater, cfg.FloodLater = time.Hour, limit, flood
			d, err := detector.NewPartition(cfg)
			if err != nil {
				t.Fatal(err)
			}
			for n := range test.copies {
				x := sentence(feed.Time(1000+n), fmt.Sprint("copy", n), 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
				d.LookupNew(nil, &x)
				d.Insert(&x)
			}
			x := sentence(0, "first", 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
			if test.variant {
				x = sentence(0, "first", 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10)
			}
			got := d.Lookup(nil, &x)
			truncated := int64(0)
			if test.copies > limit {
				truncated = 1
			}
			if n := d.Counts().Truncated; len(got) != test.want || n != truncated || got[0].Truncated != (truncated > 0) {
				t.Errorf("%d events, %d look-ups truncated, the first event %v: want %d and %d", len(got), n, got[0].Truncated, test.want, truncated)
			}
		})
	}
}

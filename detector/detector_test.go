package detector_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/oracle"
	"refrain/sigstore"
	"refrain/sigstore/auto"
	"refrain/sigstore/prefix"
	"refrain/text"
)

// engines are all there are; every test ranges over them.
var engines = map[string]detector.Engine{
	"scan": detector.Scan,
	"prefix": func(b *hashcodes.Bounds, _ *hashcodes.Model) sigstore.Engine {
		return prefix.New(b)
	},
	"prefix, as in a large window": func(b *hashcodes.Bounds, _ *hashcodes.Model) sigstore.Engine {
		return func(rows sigstore.Rows) sigstore.Index { return batched{prefix.New(b)(rows)} }
	},
	"auto": changing,
}

// batched is an index that is asked for several queries at once, however small it is.
type batched struct{ sigstore.Index }

func (batched) Batch() int { return 8 }

// changing is auto with costs that make it change its engine whenever it may.
func changing(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
	choices := auto.Choices(b, m.Words())
	turn := 0
	choices[0].Cost = func(auto.Load) float64 { turn++; return []float64{1, 100}[turn%2] }
	choices[1].Cost = func(auto.Load) float64 { return 10 }
	return auto.New(auto.Config{Choices: choices, Bounds: b, Few: 1})
}

func mustModel(tb testing.TB, bits, ones int) *hashcodes.Model {
	tb.Helper()
	m, err := hashcodes.NewMD5(bits, ones)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// sentence makes one of token numbers.
func sentence(t feed.Time, post string, index int, version uint64, tokens ...uint64) feed.Sentence {
	sequence := uint64(14695981039346656037)
	for _, id := range tokens {
		sequence = (sequence ^ id) * 1099511628211
	}
	slices.Sort(tokens)
	tokens = slices.Compact(tokens)
	return feed.Sentence{
		Post: post, Author: "author of " + post, Time: t, Index: index, Version: version, Sequence: sequence,
		Tokens: tokens, Group: feed.GroupHash(tokens), Text: fmt.Sprint(tokens),
	}
}

// randomFeed has few tokens, few posts and few times, so that everything collides: equal times, versions,
// redeliveries, several equal sentences in a post.
func randomFeed(t *rapid.T) []feed.Sentence {
	n := rapid.IntRange(1, 60).Draw(t, "posts")
	var all []feed.Sentence
	for range n {
		post := fmt.Sprintf("p%d", rapid.IntRange(0, 40).Draw(t, "id"))
		at := feed.Time(rapid.IntRange(0, 50).Draw(t, "time") * 1000)
		version := uint64(rapid.IntRange(0, 1).Draw(t, "version"))
		for i := range rapid.IntRange(1, 3).Draw(t, "sentences") {
			// What a post says is a function of its version, as the text hash makes sure in life.
			seed := version*7 + uint64(len(post))*3 + uint64(post[len(post)-1])%4 + uint64(i)%2
			tokens := []uint64{seed % 5, 5 + seed%3, 8 + seed%2}
			for k := range seed % 6 {
				tokens = append(tokens, 20+k)
			}
			all = append(all, sentence(at, post, i, version, tokens...))
		}
	}
	return all
}

// withoutVersions keeps the first version of each post.
func withoutVersions(all []feed.Sentence) []feed.Sentence {
	type version struct {
		time    feed.Time
		version uint64
	}
	first := map[string]version{}
	return slices.DeleteFunc(all, func(x feed.Sentence) bool {
		v := version{x.Time, x.Version}
		if _, ok := first[x.Post]; !ok {
			first[x.Post] = v
		}
		return first[x.Post] != v
	})
}

func want(all []feed.Sentence, cfg detector.Config) []feed.Hash {
	var f oracle.Feed
	for i := range all {
		f.AddSentence(&all[i])
	}
	return oracle.IDs(f.Brute(cfg.Measure(), cfg.Span))
}

func ids(matches []feed.Match) []feed.Hash {
	var ids []feed.Hash
	for i := range matches {
		ids = append(ids, matches[i].ID)
	}
	return ids
}

func drawConfig(t *rapid.T, tb testing.TB) detector.Config {
	name := rapid.SampledFrom([]string{"scan", "prefix"}).Draw(t, "engine")
	bits := rapid.SampledFrom([]int{32, 64, 128, 256}).Draw(t, "bits")
	thresholds := []text.Threshold{{Num: 1, Den: 2}, {Num: 3, Den: 5}, {Num: 4, Den: 5}, {Num: 9, Den: 10}, {Num: 1, Den: 1}}
	return detector.Config{
		Similarity: rapid.SampledFrom([]text.Similarity{text.Jaccard, text.Cosine, text.Dice}).Draw(t, "similarity"),
		Threshold:  rapid.SampledFrom(thresholds).Draw(t, "threshold"),
		Span:       time.Duration(rapid.SampledFrom([]int{1, 10, 1000}).Draw(t, "span")) * time.Second,
		Lateness:   time.Hour,
		Model:      mustModel(tb, bits, rapid.IntRange(1, 3).Draw(t, "ones")),
		Engine:     engines[name],
	}
}

func compare(t interface{ Fatalf(string, ...any) }, got, want []feed.Hash) {
	missing, extra := oracle.Diff(oracle.Sorted(slices.Clone(got)), want)
	if len(missing)+len(extra) > 0 {
		t.Fatalf("%d events, want %d: %d missing, %d extra", len(got), len(want), len(missing), len(extra))
	}
}

func TestAnyOrderOfArrivalGivesTheEventsOfTheDefinition(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cfg, all := drawConfig(r, t), randomFeed(r)
		partitions, workers := rapid.IntRange(1, 4).Draw(r, "partitions"), rapid.IntRange(1, 3).Draw(r, "workers")
		p, err := detector.NewPartitions(cfg, partitions, workers)
		if err != nil {
			r.Fatal(err)
		}
		var got []feed.Match
		for batch := range slices.Chunk(rapid.Permutation(all).Draw(r, "arrival"), rapid.IntRange(1, 20).Draw(r, "batch")) {
			got, _ = p.Detect(got, batch)
		}
		compare(r, ids(got), want(all, cfg))
	})
}

func TestAnIDIsReportedOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cfg, all := drawConfig(r, t), withoutVersions(randomFeed(r))
		p, err := detector.NewPartitions(cfg, rapid.IntRange(1, 3).Draw(r, "partitions"), 1)
		if err != nil {
			r.Fatal(err)
		}
		seen := map[feed.Hash]bool{}
		for _, x := range rapid.Permutation(append(all, all...)).Draw(r, "arrival") {
			matches, _ := p.Detect(nil, []feed.Sentence{x})
			for _, m := range matches {
				if seen[m.ID] {
					r.Fatalf("event %s again: %+v", m.ID, m)
				}
				seen[m.ID] = true
			}
		}
	})
}

// In time order, with the clock moving on and little lateness, blocks go and occurrences are thinned: still
// the same events.
func TestExpiryLosesNothing(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				cfg := drawConfig(r, t)
				cfg.Engine, cfg.Lateness = engine, 2*time.Second
				all := jitter(r, randomFeed(r), cfg.Lateness)
				d, err := detector.NewPartition(cfg)
				if err != nil {
					r.Fatal(err)
				}
				var got []feed.Match
				var clock feed.Time
				for i := range all {
					if !d.Has(&all[i]) {
						got = d.LookupNew(got, &all[i])
						d.Insert(&all[i])
					}
					clock = max(clock, all[i].Time)
					d.Advance(clock)
				}
				compare(r, ids(got), want(all, cfg))
			})
		})
	}
}

// jitter puts the sentences in the order of time plus a random delay below the lateness.
func jitter(r *rapid.T, all []feed.Sentence, lateness time.Duration) []feed.Sentence {
	arrival := make(map[int]feed.Time, len(all))
	order := make([]int, len(all))
	for i := range all {
		order[i] = i
		arrival[i] = all[i].Time + feed.Time(rapid.Int64Range(0, lateness.Milliseconds()).Draw(r, "delay"))
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(arrival[a] - arrival[b]) })
	out := make([]feed.Sentence, len(all))
	for i, j := range order {
		out[i] = all[j]
	}
	return out
}

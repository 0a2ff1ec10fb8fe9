package join

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"refrain/hashcodes"
	"refrain/text"
)

// pair is a Pair without what follows from it.
type pair struct{ a, b, common int }

// brute compares every two sets by definition.
func brute(m text.Measure, a, b [][]uint64) (found []pair) {
	for i, x := range a {
		for j, y := range b {
			if common := text.Intersection(x, y); m.Reaches(common, len(x), len(y)) {
				found = append(found, pair{i, j, common})
			}
		}
	}
	return found
}

// bruteSelf leaves out pairs of a set with itself, and each pair's other way round.
func bruteSelf(m text.Measure, sets [][]uint64) []pair {
	return slices.DeleteFunc(brute(m, sets, sets), func(p pair) bool { return p.a >= p.b })
}

func mustCollect(tb testing.TB, sets [][]uint64) *Collection {
	tb.Helper()
	c := &Collection{}
	for _, set := range sets {
		if err := c.Add(set); err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

// mustJoin is Self, or Two if b is not nil.
func mustJoin(tb testing.TB, cfg Config, a, b *Collection) ([]pair, Stats) {
	tb.Helper()
	var found []pair
	visit := func(p Pair) error {
		n, m := a.Size(p.A), cmp.Or(b, a).Size(p.B)
		if want := cfg.Measure.Similarity.Value(p.Common, n, m); p.Similarity != want {
			tb.Errorf("%v: similarity %v, want %v", cfg.Measure, p.Similarity, want)
		}
		found = append(found, pair{p.A, p.B, p.Common})
		return nil
	}
	stats, err := joinAny(tb.Context(), cfg, a, b, visit)
	if err != nil {
		tb.Fatal(err)
	}
	return found, stats
}

func joinAny(ctx context.Context, cfg Config, a, b *Collection, visit func(Pair) error) (Stats, error) {
	if b == nil {
		return Self(ctx, cfg, a, visit)
	}
	return Two(ctx, cfg, a, b, visit)
}

func sorted(pairs []pair) []pair {
	pairs = slices.Clone(pairs)
	slices.SortFunc(pairs, func(p, q pair) int { return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b)) })
	return pairs
}

// randomSets are small ones, some empty, many nearly the same.
func randomSets(r *rand.Rand) (sets [][]uint64) {
	tokens := 3 + r.IntN(25)
	largest := 1 + r.IntN(tokens)
	for range 2 + r.IntN(14) {
		var set []uint64
		if len(sets) > 0 && r.IntN(2) > 0 {
			set = slices.Clone(sets[r.IntN(len(sets))])
			for range r.IntN(3) {
				if len(set) > 0 {
					set = slices.Delete(set, 0, 1)
				}
			}
		}
		for range r.IntN(largest + 1) {
			set = append(set, uint64(r.IntN(1+r.IntN(tokens)))*0x9E3779B97F4A7C15)
		}
		sets = append(sets, text.Set(set))
	}
	return sets
}

// models are of one word and of several, of one bit a token and of more.
var models = sync.OnceValue(func() (all []*hashcodes.Model) {
	for _, size := range [][2]int{{32, 1}, {64, 2}, {256, 4}} {
		model, err := hashcodes.NewMD5(size[0], size[1])
		if err != nil {
			panic(err)
		}
		all = append(all, model)
	}
	return all
})

// tried are the configurations that are compared with the definition.
func tried(m text.Measure) (all []Config) {
	for _, model := range models() {
		all = append(all, Config{Measure: m, Workers: 1, Model: model}, Config{Measure: m, Workers: 1, Model: model, look: byRow})
	}
	all = append(all, Config{Measure: m, Workers: 1, look: byRow})
	for _, a := range []Algorithm{Ours, AllPairs, PPJoin} {
		all = append(all, Config{Measure: m, Algorithm: a, Workers: 1})
	}
	for depth := range 5 {
		all = append(all, Config{Measure: m, Algorithm: PPJoinPlus, MaxDepth: depth, Workers: 1})
	}
	return all
}

// each is every way to look for pairs.
func each() []Config {
	return []Config{
		{Algorithm: Ours, look: byToken}, {Algorithm: Ours, look: byRow},
		{Algorithm: AllPairs}, {Algorithm: PPJoin}, {Algorithm: PPJoinPlus, MaxDepth: 2},
	}
}

var full = flag.Bool("full", false, "the long versions of the tests")

// collections is how many are tried: one after the other, so that -full begins with the same ones.
func collections() int {
	switch {
	case *full:
		return 10_000
	case testing.Short():
		return 50
	}
	return 500
}

// TestAgainstTheDefinition joins small random collections in every way: the pairs are those of the definition, and
// the candidates of All-Pairs, PPJoin and PPJoinPlus do not become more.
func TestAgainstTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pairs := 0
	for range collections() {
		a, b := randomSets(r), randomSets(r)
		ca, cb := mustCollect(t, a), mustCollect(t, b)
		for _, m := range measures(r) {
			pairs += compare(t, m, ca, nil, bruteSelf(m, a))
			pairs += compare(t, m, ca, cb, brute(m, a, b))
		}
	}
	if pairs < 10*collections() {
		t.Errorf("%d pairs in %d collections: nothing was tried", pairs, collections())
	}
}

// measures are all, each at a threshold of its own.
func measures(r *rand.Rand) (all []text.Measure) {
	for s := range text.Overlap {
		all = append(all, s.At(text.Threshold{Num: 1 + r.IntN(20), Den: 20}))
	}
	return append(all, text.Overlap.At(text.Threshold{Num: 1 + r.IntN(8), Den: 1}))
}

func compare(t *testing.T, m text.Measure, a, b *Collection, want []pair) int {
	t.Helper()
	candidates := map[Algorithm]int64{}
	for _, cfg := range tried(m) {
		got, stats := mustJoin(t, cfg, a, b)
		if !slices.Equal(sorted(got), want) || int(stats.Pairs) != len(want) {
			t.Fatalf("%v, %v, depth %d: got %v, want %v", m, cfg.Algorithm, cfg.MaxDepth, got, want)
		}
		candidates[cfg.Algorithm] = max(candidates[cfg.Algorithm], stats.Candidates)
	}
	all, pp, plus := candidates[AllPairs], candidates[PPJoin], candidates[PPJoinPlus]
	if all < pp || pp < plus || plus < int64(len(want)) {
		t.Fatalf("%v: candidates %v, pairs %d", m, candidates, len(want))
	}
	return len(want)
}

// TestWorkers: any number of workers gives the same pairs in the same order, also where one set has very many.
func TestWorkers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var sets [][]uint64
	for range 300 {
		sets = append(sets, randomSets(r)...)
	}
	c, half := mustCollect(t, sets), mustCollect(t, sets[:len(sets)/2])
	for _, cfg := range each() {
		a := cfg.Algorithm
		cfg.Measure, cfg.Workers = text.Jaccard.At(text.Threshold{Num: 3, Den: 5}), 1
		self, selfStats := mustJoin(t, cfg, c, nil)
		two, twoStats := mustJoin(t, cfg, half, c)
		for cfg.Workers = 2; cfg.Workers <= 4; cfg.Workers++ {
			got, stats := mustJoin(t, cfg, c, nil)
			if !slices.Equal(got, self) || counts(stats) != counts(selfStats) {
				t.Errorf("%v, %d workers: other pairs or counts: %+v", a, cfg.Workers, stats)
			}
			got, stats = mustJoin(t, cfg, half, c)
			if !slices.Equal(got, two) || counts(stats) != counts(twoStats) {
				t.Errorf("%v, %d workers, two collections: other pairs or counts: %+v", a, cfg.Workers, stats)
			}
		}
	}
}

// counts leaves out the times.
func counts(s Stats) Stats {
	s.Prepare, s.Join = 0, 0
	return s
}

// TestEnd: an error of visit and the end of the context end a join.
func TestEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var sets [][]uint64
	for range 500 {
		sets = append(sets, randomSets(r)...)
	}
	c := mustCollect(t, sets)
	wrong := errors.New("disk full")
	for workers := 1; workers <= 4; workers++ {
		cfg := Default()
		cfg.Workers = workers
		ctx, cancel := context.WithCancel(t.Context())
		for _, visit := range []struct {
			f    func(Pair) error
			want error
		}{
			{func(Pair) error { return wrong }, wrong},
			{func(Pair) error { cancel(); return nil }, context.Canceled},
		} {
			if _, err := Self(ctx, cfg, c, visit.f); !errors.Is(err, visit.want) {
				t.Errorf("%d workers: %v, want %v", workers, err, visit.want)
			}
		}
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) {}, ""},
		{func(c *Config) { c.Measure.Threshold = text.Threshold{Num: 5, Den: 4} }, "join: threshold 5/4: want more than 0 and at most 1"},
		{func(c *Config) { c.Measure.Threshold.Num = 0 }, "join: threshold 0/5: want more than 0 and at most 1"},
		{func(c *Config) { c.Measure.Similarity = text.Overlap },
			"join: threshold 4/5: want a whole number of tokens, 1 or more, for overlap"},
		{func(c *Config) { c.Measure = text.Overlap.At(text.Threshold{Num: 3, Den: 1}) }, ""},
		{func(c *Config) { c.Measure.Similarity = 9 }, "join: measure similarity 9: there is no such one"},
		{func(c *Config) { c.Workers, c.MaxDepth, c.Algorithm, c.Memory = 0, -1, 7, -1 }, "join: algorithm 7: there is no such one\n" +
			"depth of the suffix filter -1: want 0 or more\n0 workers: want 1 or more\nmemory -1: want 0 or more"},
	} {
		cfg := Default()
		c.change(&cfg)
		_, err := Self(t.Context(), cfg, &Collection{}, nil)
		if got := fmt.Sprint(err); got != cmp.Or(c.want, "<nil>") {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestParts: with little memory rows are posted part by part, and the pairs are the same.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var sets [][]uint64
	for range 3000 {
		var set []uint64
		for range 5 + r.IntN(15) {
			set = append(set, uint64(r.IntN(1+r.IntN(300))))
		}
		sets = append(sets, text.Set(set))
	}
	a, b := mustCollect(t, sets), mustCollect(t, sets[1000:])
	for _, cfg := range each() {
		algorithm := cfg.Algorithm
		for _, other := range []*Collection{nil, b} {
			cfg.Measure, cfg.Workers, cfg.Memory = text.Cosine.At(text.Threshold{Num: 7, Den: 10}), 3, 0
			want, whole := mustJoin(t, cfg, a, other)
			cfg.Memory = 1 // too little: the error says how much is enough
			_, err := joinAny(t.Context(), cfg, a, other, nil)
			if _, scanned := fmt.Sscanf(fmt.Sprint(err), "join: takes at least %d bytes of memory, and may take 1", &cfg.Memory); scanned != nil {
				t.Fatalf("with a byte: %v", err)
			}
			pairs, parts := mustJoin(t, cfg, a, other)
			if !slices.Equal(sorted(pairs), sorted(want)) || parts.Parts < 2 || whole.Parts != 1 {
				t.Errorf("%v: %d pairs of %d, %+v, want %+v", algorithm, len(pairs), len(want), parts, whole)
			}
			parts.Parts = 1
			if counts(parts) != counts(whole) {
				t.Errorf("%v: in parts %+v, want %+v", algorithm, parts, whole)
			}
		}
	}
}

// TestEmpty: collections of nothing, and of empty sets, have no pairs.
func TestEmpty(t *testing.T) {
	nothing, empty, one := &Collection{}, mustCollect(t, [][]uint64{{}, {}}), mustCollect(t, [][]uint64{{}, {5}, {5}, {}})
	for _, cfg := range each() {
		a := cfg.Algorithm
		cfg.Measure, cfg.Workers = Default().Measure, 2
		for _, c := range []struct {
			a, b *Collection
			want []pair
		}{
			{nothing, nil, nil}, {empty, nil, nil}, {nothing, one, nil}, {one, empty, nil},
			{one, nil, []pair{{1, 2, 1}}}, {one, one, []pair{{1, 1, 1}, {1, 2, 1}, {2, 1, 1}, {2, 2, 1}}},
		} {
			if got, _ := mustJoin(t, cfg, c.a, c.b); !slices.Equal(sorted(got), c.want) {
				t.Errorf("%v: got %v, want %v", a, got, c.want)
			}
		}
	}
}

// TestLargeSet: there is a largest set, and one that is larger leaves no trace.
func TestLargeSet(t *testing.T) {
	large := make([]uint64, MaxTokens+1)
	for i := range large {
		large[i] = uint64(i)
	}
	c := mustCollect(t, [][]uint64{large[:MaxTokens]})
	if err := c.Add(large); err == nil || err.Error() != "a set of 1048577 tokens: want at most 1048576" {
		t.Errorf("one token more: %v", err)
	}
	if err := c.Add(large[1:]); err != nil {
		t.Fatal(err)
	}
	for a := range Algorithms {
		cfg := Default()
		cfg.Algorithm = Algorithm(a)
		got, _ := mustJoin(t, cfg, c, nil)
		if want := []pair{{0, 1, MaxTokens - 1}}; !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", cfg.Algorithm, got, want)
		}
	}
}

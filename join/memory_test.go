package join

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"refrain/text"
)

// TestMemory: a join holds no more than Memory says, by what is left after the collector, at any time; and not far less.
//
// Sets of ten of forty tokens have long lists, which every worker lays out for itself.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine collects garbage again and again: nothing for the race detector")
	}
	a, b := tenOfForty(t, 1), tenOfForty(t, 2)
	for _, cfg := range append(each()[:2], Config{Algorithm: PPJoin}) {
		for _, other := range []*Collection{nil, b} {
			cfg.Measure, cfg.Workers = text.Jaccard.At(text.Threshold{Num: 9, Den: 10}), 8
			held, said := mustHold(t, cfg, a, other), Memory(cfg, a, other)
			t.Logf("%v, %v: %d bytes of %d", cfg.Algorithm, cfg.look, held, said)
			if held > said || 4*held < said {
				t.Errorf("%v, %d collections: holds %d bytes, Memory says %d", cfg.Algorithm, len(collectionsOf(a, other)), held, said)
			}
		}
	}
}

func tenOfForty(tb testing.TB, seed uint64) *Collection {
	tb.Helper()
	random, tokens := rand.New(rand.NewPCG(seed, 10)), make([]uint64, 40)
	for i := range tokens {
		tokens[i] = uint64(i)
	}
	var sets [][]uint64
	for range 20_000 {
		random.Shuffle(len(tokens), func(i, j int) { tokens[i], tokens[j] = tokens[j], tokens[i] })
		sets = append(sets, append([]uint64(nil), tokens[:10]...))
	}
	return mustCollect(tb, sets)
}

// mustHold joins, and returns by how much the heap was larger than before, at most.
func mustHold(tb testing.TB, cfg Config, a, b *Collection) (held int64) {
	tb.Helper()
	before, calls := live(), 0
	cfg.Progress = func(int, int) {
		if calls++; calls%16 == 0 {
			held = max(held, live()-before)
		}
	}
	if _, err := joinAny(tb.Context(), cfg, a, b, func(Pair) error { return nil }); err != nil {
		tb.Fatal(err)
	}
	return held
}

// live is what the heap holds after the collector.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

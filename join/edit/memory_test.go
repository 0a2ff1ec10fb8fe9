package edit

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestMemory: a join holds no more than Memory says, as seen at its pairs, and not far less; whatever the distance.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long: runs without -short")
	}
	var a, b []string
	for i := range 30_000 {
		a = append(a, fmt.Sprintf("%08d%s", i*7919, strings.Repeat("x", 20+i%8)))
		b = append(b, fmt.Sprintf("%08d%s", i*7907, strings.Repeat("x", 24+i%8)))
	}
	for _, sides := range [][][]string{{a}, {a, b}} {
		for _, distance := range []int{0, 1, 3, 20} {
			c := Config{Distance: distance, Q: 3, Workers: 4}
			held, said := mustHold(t, c, sides...), Memory(c, sides...)
			if held > said || distance > 0 && 3*held < said {
				t.Errorf("distance %d, %d collections: holds %d bytes, Memory says %d", distance, len(sides), held, said)
			}
		}
	}
}

// mustHold joins until some pairs are found, and returns by how much the heap was larger than before, at most.
func mustHold(tb testing.TB, c Config, sides ...[]string) (held int64) {
	tb.Helper()
	before, enough, calls := live(), fmt.Errorf("enough"), 0
	_, err := run(tb.Context(), c, func(Pair) error {
		held = max(held, live()-before)
		if calls++; calls == 20 {
			return enough
		}
		return nil
	}, sides...)
	if err != nil && err != enough {
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

// TestMemoryOfLargeDistance: a distance greater than all strings takes no grams, and so no memory for them.
func TestMemoryOfLargeDistance(t *testing.T) {
	few := []string{"one", "two", "three"}
	if n := Memory(Config{Distance: MaxDistance, Q: 3, Workers: 2}, few); n > 1<<20 {
		t.Errorf("%d bytes for %q", n, few)
	}
}

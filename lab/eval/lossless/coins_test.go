package lossless

import (
	"math"
	"slices"
	"testing"

	"refrain/text"
)

func TestChances(t *testing.T) {
	if got, want := chances(3), []float64{1. / 8, 4. / 8, 7. / 8, 1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := chances(256); math.Abs(got[256]-1) > 1e-9 || math.Abs(got[127]+got[128]-1) > 1e-9 {
		t.Errorf("of 256 coins: %g in all, %g and %g on both sides of the middle", got[256], got[127], got[128])
	}
}

// A query of 4 tokens at 0.6 fits sets of 3 to 6.
func TestCoins(t *testing.T) {
	sets := [][]uint64{{1, 2}, {1, 2, 3}, {1, 2, 3, 4}, {5, 6, 7, 8}, {1, 2, 3, 4, 5},
		{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6, 7}}
	tab, query := newTable(sets, 1), [][]uint64{{11, 12, 13, 14}}
	similar := text.Jaccard.At(text.Threshold{Num: 3, Den: 5})
	want := 0.0
	for _, x := range []struct{ rows, size int }{{1, 3}, {2, 4}, {1, 5}, {1, 6}} {
		radius := 4 + x.size - 2*similar.MinOverlap(4, x.size)
		want += float64(x.rows) * chances(32)[radius]
	}
	if got := tab.coins(similar, 32, 1, query); math.Abs(got-want) > 1e-15 || want == 0 {
		t.Errorf("got %g, want %g", got, want)
	}
	if got := tab.coins(similar, 32, 40, query); got != 5 {
		t.Errorf("a radius of all bits and more: %g rows of 5", got)
	}
}

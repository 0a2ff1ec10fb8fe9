package join

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortFew sorts fewer ranks too.
func TestSortFew(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for n := range fewRanks + 1 {
		for range 500 {
			var ranks []uint32
			for i := range n {
				ranks = append(ranks, uint32(3*i))
			}
			want := slices.Clone(ranks)
			r.Shuffle(n, func(i, j int) { ranks[i], ranks[j] = ranks[j], ranks[i] })
			got := slices.Clone(ranks)
			if sortFew(got); !slices.Equal(got, want) {
				t.Fatalf("%v: got %v", ranks, got)
			}
		}
	}
}

// TestZeroOne: a network that sorts all sequences of 0 and 1 sorts everything (Knuth, 5.3.4, theorem Z).
func TestZeroOne(t *testing.T) {
	for bits := range 1 << 8 {
		ranks := make([]uint32, 8)
		for i := range ranks {
			ranks[i] = uint32(bits >> i & 1)
		}
		if sortFew(ranks); !slices.IsSorted(ranks) {
			t.Errorf("%08b: got %v", bits, ranks)
		}
	}
}

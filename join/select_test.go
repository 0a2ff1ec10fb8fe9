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

// TestOrder: the prefix of a row is in order, or both its ends are where they belong; and nothing is lost.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	const most = 300
	f := &front{prefixes: make([]uint32, most+1)}
	posted := make([]uint32, most+1)
	ranks := make([]uint32, 4*most)
	for k := range f.quantiles {
		f.quantiles[k] = uint32(k * len(ranks) / shares)
	}
	for range 3000 {
		for i, rank := range r.Perm(len(ranks)) {
			ranks[i] = uint32(rank)
		}
		set := make([]uint32, 1+r.IntN(1+r.IntN(most)))
		row, want := make([]uint32, len(set)), make([]uint32, len(set))
		for i := range set {
			set[i] = uint32(i)
			want[i] = ranks[i]
		}
		slices.Sort(want)
		n := r.IntN(len(set) + 1)
		m := r.IntN(n + 1)
		f.prefixes[len(set)], posted[len(set)] = uint32(n), uint32(m)
		for _, f.posted = range [][]uint32{nil, posted} {
			f.order(row, set, ranks)
			if f.posted == nil && !slices.Equal(row[:n], want[:n]) {
				t.Fatalf("%d of %d: got %v, want %v", n, len(set), row[:n], want[:n])
			}
			for _, end := range []int{n, m} {
				if end > 0 && (row[end-1] != want[end-1] || slices.Max(row[:end]) != want[end-1]) {
					t.Fatalf("%d and %d of %d: got %v", n, m, len(set), row)
				}
			}
			if slices.Sort(row); !slices.Equal(row, want) {
				t.Fatalf("%d and %d of %d: lost tokens", n, m, len(set))
			}
		}
	}
}

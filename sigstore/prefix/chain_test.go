package prefix

import (
	"math/rand/v2"
	"slices"
	"testing"

	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/text"
)

// For each row: a query that shares with it just the least overlap, of its commonest tokens; the others are unknown.
func TestHRChain(t *testing.T) {
	for _, sim := range []text.Similarity{text.Jaccard, text.Cosine} {
	for _, th := range []text.Threshold{{Num: 1, Den: 2}, {Num: 3, Den: 5}, {Num: 4, Den: 5}} {
		for _, size := range []int{8, 12, 16, 24, 40} {
			m := sim.At(th)
			const rows, tokens = 8_000, 200
			df := frequencies(make([]uint32, tokens))
			for i := range df {
				df[i] = uint32(10000000 - i)
			}
			for i := range df { df[i] = uint32(1000 + 1000*i) }
			var sets [][]uint32
			b := hashcodes.NewBounds(m, 1)
			x := New(b)(withSets{df, &sets}).(*index)
			x.Open()
			r := rand.New(rand.NewPCG(1, 11))
			sig := make(hashcodes.Signature, 2)
			for range rows {
				set := []uint32{}
				for _, p := range r.Perm(tokens)[:size] { set = append(set, uint32(p)) }
				slices.Sort(set)
				sets = append(sets, set)
				x.Add(set, sig)
			}
			o := m.MinOverlap(size, size)
			lost, asked := 0, 0
			for i := 0; i < rows; i += 3 {
				g := x.newest()
				ranks := g.order.rarest(nil, sets[i], size)
				var q0 []uint32
				for _, k := range ranks[size-o:] { q0 = append(q0, sets[i][k.position()]) }
				slices.Sort(q0)
				q := []sigstore.Query{{Tokens: q0, Size: size, Signature: sig}}
				x.Search(q)
				asked++
				if !slices.Contains(q[0].Hits, sigstore.Row{Row: uint32(i)}) { lost++ }
			}
			t.Logf("%v size %d overlap %d prefix %d cell places %d: asked %d lost %d; generations %d", m, size, o, b.For(size).Prefix, x.filters.buckets.places[size], asked, lost, len(x.generations))
			if lost > 0 { t.Error("lost") }
		}
	}
	}
}

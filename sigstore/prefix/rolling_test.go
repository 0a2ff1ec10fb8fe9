package prefix

import (
	"math/rand/v2"
	"testing"
)

// a rolling window with deletions and takeovers: large sets of few tokens, queries at the least overlap.
func TestHRRoll(t *testing.T) {
	for _, tokensClass := range []int{12} {
	for seed, similar := range measures {
		if seed%5 != 2 { continue }
		before := cuts
		cuts[0].class, cuts[1].class, cuts[2].class, cuts[3].class = 1, 1, tokensClass, 1
		rows, reposted := minRows, maxReposted
		minRows, maxReposted = 64, 16
		func() {
			defer func() { cuts = before; minRows, maxReposted = rows, reposted }()
			r := rand.New(rand.NewPCG(uint64(seed), 99))
			w := newWorld(t, similar, 64, 1)
			for range 48 { w.token() }
			w.free = nil
			gens := 0
			for step := range 2600 {
				if step%700 == 699 { w.open(); if len(w.blocks) > 6 { w.drop(); w.free = nil } }
				if r.IntN(20) == 0 {
					b := r.IntN(len(w.blocks))
					if n := len(w.blocks[b]); n > 0 { if k := r.IntN(n); w.blocks[b][k] != nil { w.kill(b, k); w.free = nil } }
				}
				size := []int{24, 24, 24, 23, 25, 14}[r.IntN(6)]
				var set []uint32
				for _, p := range r.Perm(48)[:size] { set = append(set, uint32(p)) }
				w.add(set)
				gens = max(gens, len(w.index.(*index).generations))
				if step > 500 && step%9 == 0 {
					b := r.IntN(len(w.blocks))
					if n := len(w.blocks[b]); n > 0 {
						row := w.blocks[b][r.IntN(n)]
						if row == nil { continue }
						o := similar.MinOverlap(len(row), len(row))
						g := w.index.(*index).newest()
						ranks := g.order.rarest(nil, row, len(row))
						var q []uint32
						for _, k := range ranks[len(row)-o:] { q = append(q, row[k.position()]) }
						sortU(q)
						w.search(q, len(row)-o)
					}
				}
			}
			t.Logf("%v class %d: hits %d, gens %d kinds %v longer", similar, tokensClass, w.hits, gens, w.kindsOfNodes())
		}()
	}
	}
}

func sortU(a []uint32) { for i := range a { for j := i; j > 0 && a[j-1] > a[j]; j-- { a[j-1], a[j] = a[j], a[j-1] } } }

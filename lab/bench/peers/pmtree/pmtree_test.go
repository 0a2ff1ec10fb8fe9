package pmtree

import (
	"math/rand/v2"
	"slices"
	"testing"

	"refrain/hashcodes/hamming"
)

// TestAgainstScan compares searches with the scan while the tree grows, on uniform and on sparse signatures, many of
// them equal.
func TestAgainstScan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, next := range map[string]func() uint32{
		"uniform": r.Uint32,
		"sparse":  func() uint32 { return r.Uint32() & r.Uint32() & r.Uint32() },
		"few":     func() uint32 { return uint32(r.IntN(20)) },
		"equal":   func() uint32 { return 7 },
	} {
		t.Run(name, func(t *testing.T) {
			var signatures []uint32
			for range 300 {
				signatures = append(signatures, next())
			}
			tree := New(signatures[:100])
			for n := range 6000 {
				if n%1500 == 0 || n < 100 && n%10 == 0 {
					compare(t, tree, signatures[:n], next)
				}
				if n >= len(signatures) {
					signatures = append(signatures, next())
				}
				tree.Insert(signatures[n])
			}
			compare(t, tree, signatures, next)
			checkBalls(t, tree)
		})
	}
}

func compare(t *testing.T, tree *Tree, signatures []uint32, next func() uint32) {
	t.Helper()
	if tree.Len() != len(signatures) {
		t.Fatalf("Len() = %d, want %d", tree.Len(), len(signatures))
	}
	for _, radius := range []int{-1, 0, 1, 3, 6, 12, 32} {
		query := next()
		want := hamming.Scan(nil, [][]uint32{signatures}, []uint32{query}, radius)
		got := tree.Search(nil, query, radius)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%d rows, radius %d: %d hits, want %d", len(signatures), radius, len(got), len(want))
		}
	}
}

// checkBalls goes through the tree and wants every page within its size, every object within its ball and its rings,
// and what is known of distances right.
func checkBalls(t *testing.T, tree *Tree) {
	t.Helper()
	var depths []int
	var walk func(n *node, above []*ball, depth int)
	walk = func(n *node, above []*ball, depth int) {
		if len(n.balls) > maxBalls || len(n.rows) > maxRows || len(n.balls) > 0 && len(n.rows) > 0 {
			t.Fatalf("a page of %d balls and %d rows", len(n.balls), len(n.rows))
		}
		for i := range n.balls {
			b := &n.balls[i]
			if len(above) > 0 && b.toParent != distance(b.centre, above[len(above)-1].centre) {
				t.Fatal("a ball's distance to its parent's centre is wrong")
			}
			walk(b.child, append(slices.Clone(above), b), depth+1)
		}
		for _, r := range n.rows {
			for _, b := range above {
				if distance(r.signature, b.centre) > b.radius || !b.rings.hold(r.toPivots) {
					t.Fatal("a row outside the ball or the rings of a page above it")
				}
			}
		}
		if len(n.rows) > 0 {
			depths = append(depths, depth)
		}
	}
	walk(tree.root, nil, 0)
	if slices.Min(depths) != slices.Max(depths) || slices.Max(depths) == 0 {
		t.Errorf("leaves at depths %d to %d: want one depth, and more than a root", slices.Min(depths), slices.Max(depths))
	}
}

func (r *rings) hold(d toPivots) bool {
	for p := range d {
		if d[p] < r.low[p] || d[p] > r.high[p] {
			return false
		}
	}
	return true
}

// TestPrunes wants searches to leave something out: a tree that looks at everything would pass the tests above.
func TestPrunes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var signatures []uint32
	for range 20_000 {
		signatures = append(signatures, r.Uint32()&r.Uint32()&r.Uint32())
	}
	tree := New(signatures[:1000])
	for _, s := range signatures {
		tree.Insert(s)
	}
	const queries = 50
	for _, s := range signatures[:queries] {
		tree.Search(nil, s, 1)
	}
	if share := float64(tree.Distances()) / float64(queries*len(signatures)); share > 0.8 {
		t.Errorf("a search computes the distances of %.0f %% of all rows", 100*share)
	}
}

package topic_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"refrain/topic"
)

var full = flag.Bool("full", false, "print the table of docs/design/0019-ownership.md")

func drawMembers(t *rapid.T) []string {
	return rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9.-]{1,8}`), 1, 32, rapid.ID).Draw(t, "members")
}

// TestDeal: every part once, nobody more than one ahead of another, and the order of the members is nothing.
func TestDeal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, parts := drawMembers(t), rapid.IntRange(0, 256).Draw(t, "parts")
		got := topic.Deal(parts, members)
		var all []int
		for _, m := range members {
			if n := len(got[m]); n < parts/len(members) || n > (parts+len(members)-1)/len(members) {
				t.Errorf("%s has %d of %d parts among %d", m, n, parts, len(members))
			}
			all = append(all, got[m]...)
		}
		slices.Sort(all)
		if len(all) != parts || len(slices.Compact(all)) != parts || len(got) != len(members) {
			t.Errorf("%d parts dealt to %d of %d members, want %d", len(all), len(got), len(members), parts)
		}
		if d := cmp.Diff(got, topic.Deal(parts, rapid.Permutation(members).Draw(t, "order"))); d != "" {
			t.Errorf("in another order: %s", d)
		}
	})
}

// TestDealFixed: workers of two versions must agree for ever.
func TestDealFixed(t *testing.T) {
	want := map[string][]int{"match-0": {1, 5}, "match-1": {2, 3, 6}, "match-2": {0, 4, 7}}
	got := topic.Deal(8, []string{"match-0", "match-1", "match-2"})
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDealToNobody(t *testing.T) {
	if got := topic.Deal(4, nil); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if got := topic.Deal(2, []string{"a", "a"}); !slices.Equal(got["a"], []int{0, 1}) {
		t.Errorf("a name given twice: got %v", got)
	}
}

// moved counts the parts whose owner changes when the last member leaves, which is as many as when it returns.
func moved(parts int, members []string) (n int) {
	before, after := topic.Deal(parts, members), topic.Deal(parts, members[:len(members)-1])
	for m, kept := range before {
		for _, p := range kept {
			if !slices.Contains(after[m], p) {
				n++
			}
		}
	}
	return n
}

// TestMoves: with sixteen parts a member or more, and up to eight members, at most 2/members of the parts move.
func TestMoves(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 2; n <= 8; n++ {
		for _, parts := range []int{16 * n, 256} {
			for range 20 {
				if got := moved(parts, names(rng, n)); got > 2*parts/n {
					t.Errorf("%d parts, %d members: %d moved", parts, n, got)
				}
			}
		}
	}
}

func names(rng *rand.Rand, n int) (out []string) {
	for range n {
		out = append(out, fmt.Sprintf("w%x", rng.Uint64()))
	}
	return out
}

// TestMovesTable prints what leaving moves, as multiples of 1/members of the parts: mean and greatest of many names.
func TestMovesTable(t *testing.T) {
	if !*full {
		t.Skip("-full")
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, parts := range []int{4, 8, 16, 32, 64, 128, 256} {
		row := fmt.Sprintf("| %d |", parts)
		for _, n := range []int{2, 3, 4, 5, 6, 8, 12, 16, 32} {
			row += cell(rng, parts, n)
		}
		t.Log(row)
	}
}

func cell(rng *rand.Rand, parts, n int) string {
	var sum, top float64
	const tries = 1000
	for range tries {
		x := float64(moved(parts, names(rng, n))) * float64(n) / float64(parts)
		sum, top = sum+x, max(top, x)
	}
	return fmt.Sprintf(" %.1f (%.1f) |", sum/tries, top)
}

package ppjoin

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"refrain/text"
)

var thresholds = []text.Threshold{{Num: 1, Den: 10}, {Num: 1, Den: 3}, {Num: 1, Den: 2}, {Num: 3, Den: 5},
	{Num: 2, Den: 3}, {Num: 4, Den: 5}, {Num: 9, Den: 10}, {Num: 1, Den: 1}}

// TestAgainstBruteForce compares what a join finds with the definition, for every threshold and with all, some and
// none of the tokens ordered up front.
func TestAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sets := randomSets(r, 900, 400)
	order := rarestFirst(sets)
	for _, threshold := range thresholds {
		for name, order := range map[string][]uint64{"all": order, "some": order[len(order)/2:], "none": nil} {
			t.Run(fmt.Sprintf("%s/%s", threshold, name), func(t *testing.T) { compare(t, threshold, order, sets) })
		}
	}
}

// TestSmall tries sets of up to six of eight tokens, where ceilings are met exactly and prefixes are whole sets.
func TestSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var sets [][]uint64
	for range 700 {
		sets = append(sets, subset(r, []uint64{1, 2, 3, 4, 5, 6, 7, 8}, r.IntN(7)))
	}
	for _, threshold := range thresholds {
		compare(t, threshold, nil, sets)
	}
}

// TestWrap lets the number of the search wrap: states of its first use must not count.
func TestWrap(t *testing.T) {
	sets := randomSets(rand.New(rand.NewPCG(5, 6)), 300, 100)
	threshold := text.Threshold{Num: 1, Den: 2}
	j := New(threshold, nil)
	for i, set := range sets {
		if i == 100 {
			j.searches = 1<<32 - 50
		}
		check(t, j.Next(nil, set), want(threshold, sets[:i], set), i)
	}
}

func compare(t *testing.T, threshold text.Threshold, order []uint64, sets [][]uint64) {
	t.Helper()
	j := New(threshold, order)
	found := 0
	for i, set := range sets {
		hits := want(threshold, sets[:i], set)
		check(t, j.Next(nil, set), hits, i)
		found += len(hits)
	}
	if found == 0 {
		t.Errorf("threshold %s: no set has a partner: nothing was tried", threshold)
	}
	if j.Len() != len(sets) || j.Candidates() < found {
		t.Errorf("Len() = %d, Candidates() = %d, want %d and at least %d", j.Len(), j.Candidates(), len(sets), found)
	}
}

func check(t *testing.T, got, want []uint32, row int) {
	t.Helper()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("record %d matches %v, want %v", row, got, want)
	}
}

// want is the definition.
func want(threshold text.Threshold, earlier [][]uint64, set []uint64) (hits []uint32) {
	for i, other := range earlier {
		if text.Jaccard.At(threshold).Reaches(text.Intersection(other, set), len(other), len(set)) {
			hits = append(hits, uint32(i))
		}
	}
	return hits
}

// randomSets are sets of skewed tokens, many of them changed copies of earlier ones, some empty or the same.
func randomSets(r *rand.Rand, n, vocabulary int) (sets [][]uint64) {
	for range n {
		set := make([]uint64, 0, 40)
		if len(sets) > 0 && r.IntN(3) > 0 {
			set = append(set, sets[r.IntN(len(sets))]...)
			set = set[:len(set)-min(len(set), r.IntN(3))]
		}
		for range r.IntN(4) * r.IntN(6) {
			set = append(set, token(r.IntN(1+r.IntN(vocabulary))))
		}
		sets = append(sets, text.Set(set))
	}
	return sets
}

// token is an id that looks like a hash.
func token(n int) uint64 { return uint64(n+1) * 0xD1B54A32D192ED03 }

func subset(r *rand.Rand, of []uint64, n int) []uint64 {
	set := slices.Clone(of)
	r.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
	return text.Set(set[:n])
}

func rarestFirst(sets [][]uint64) (order []uint64) {
	frequency := map[uint64]int{}
	for _, set := range sets {
		for _, id := range set {
			frequency[id]++
		}
	}
	for id := range frequency {
		order = append(order, id)
	}
	slices.SortFunc(order, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(frequency[a], frequency[b]), cmp.Compare(a, b))
	})
	return order
}

package lossless

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"refrain/hashcodes"
	"refrain/hashcodes/train"
	"refrain/text"
)

var thresholds = []text.Threshold{{Num: 1, Den: 3}, {Num: 1, Den: 2}, {Num: 3, Den: 5}, {Num: 7, Den: 10},
	{Num: 4, Den: 5}, {Num: 9, Den: 10}, {Num: 1, Den: 1}}

// measures are all thresholds under both similarities.
func measures() (all []text.Measure) {
	for _, t := range thresholds {
		all = append(all, text.Jaccard.At(t), text.Cosine.At(t))
	}
	return all
}

type pair struct {
	a, b   uint32
	common int
}

// TestJoinAgainstBruteForce compares the pairs that the join finds with the definition.
func TestJoinAgainstBruteForce(t *testing.T) {
	sets := distinct(randomSets(rand.New(rand.NewPCG(1, 2)), 500, 200))
	slices.SortStableFunc(sets, func(a, b []uint64) int { return cmp.Compare(len(a), len(b)) })
	for _, m := range measures() {
		t.Run(m.String(), func(t *testing.T) {
			got, want := joined(t, m, sets), brute(m, sets)
			if !slices.Equal(got, want) {
				t.Fatalf("%d pairs, want %d", len(got), len(want))
			}
			if len(want) == 0 && m.Threshold.Num < m.Threshold.Den {
				t.Fatal("no pairs: nothing was tried")
			}
		})
	}
}

func joined(t *testing.T, m text.Measure, sets [][]uint64) (all []pair) {
	t.Helper()
	var lock sync.Mutex
	done := 0
	err := joinPairs(t.Context(), m, sets, 3, func(rows int) {
		lock.Lock()
		defer lock.Unlock()
		done = max(done, rows)
	}, func(_ int, a, b uint32, common int) {
		lock.Lock()
		defer lock.Unlock()
		all = append(all, pair{a, b, common})
	})
	if err != nil || done != len(sets) {
		t.Fatalf("%v, %d of %d rows", err, done, len(sets))
	}
	slices.SortFunc(all, func(x, y pair) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
	return all
}

func brute(m text.Measure, sets [][]uint64) (all []pair) {
	for a := range sets {
		for b := range a {
			if common := text.Intersection(sets[a], sets[b]); similar(m, common, len(sets[a]), len(sets[b])) {
				all = append(all, pair{uint32(a), uint32(b), common})
			}
		}
	}
	return all
}

// TestJoinOfNothing must not reach for a list that is not there, nor for that of the empty set.
func TestJoinOfNothing(t *testing.T) {
	for _, sets := range [][][]uint64{nil, {{}}, {{}, {1}}} {
		if got := joined(t, text.Jaccard.At(text.Threshold{Num: 1, Den: 2}), sets); len(got) != 0 {
			t.Errorf("%v: %v", sets, got)
		}
	}
}

func TestJoinEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := joinPairs(ctx, text.Jaccard.At(text.Threshold{Num: 1, Den: 2}), [][]uint64{{1}, {2}}, 2, nil, nil)
	if err == nil {
		t.Error("no error though the context had ended")
	}
}

// TestCandidates compares the count of a table with that of the learners, and with the definition for the cosine.
func TestCandidates(t *testing.T) {
	sets := distinct(randomSets(rand.New(rand.NewPCG(3, 4)), 700, 300))
	queries := sets[:60]
	table := newTable(sets[30:], 3) // half of the queries are in it
	for _, ones := range []int{1, 2} {
		model, err := hashcodes.NewMD5(32, ones)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range measures() {
			got, err := table.candidates(t.Context(), m, model, queries)
			if err != nil {
				t.Fatal(err)
			}
			similar, equal, err := table.matches(t.Context(), m, queries)
			if err != nil {
				t.Fatal(err)
			}
			if want := bruteCandidates(m, model, queries, sets[30:]); got != want {
				t.Errorf("%v, %d ones: candidates %+v, want %+v", m, ones, got, want)
			}
			if m.Similarity == text.Cosine {
				continue
			}
			cost := train.Count(t.Context(), model, m, queries, sets[30:])
			if cost.True != similar || equal != 30 || cost.False != got.within-similar-equal {
				t.Errorf("%v, %d ones: candidates %+v, %d similar, %d equal; the learners count %+v", m, ones, got, similar, equal, cost)
			}
		}
	}
}

func bruteCandidates(m text.Measure, model *hashcodes.Model, queries, sets [][]uint64) (n hits) {
	sign := func(set []uint64) uint32 { return model.Sign(make(hashcodes.Signature, 1), set)[0] }
	signatures := make([]uint32, len(sets))
	for i, set := range sets {
		signatures[i] = sign(set)
	}
	for _, q := range queries {
		sq := sign(q)
		for i, set := range sets {
			ss := signatures[i]
			if bits.OnesCount32(sq^ss) > hashcodes.Radius(m, model.Ones(), len(q), len(set)) {
				continue
			}
			n.within++
			if overlap := m.MinOverlap(len(q), len(set)); counted(model, q, sq&^ss) <= model.Ones()*(len(q)-overlap) &&
				bits.OnesCount32(ss&^sq) <= model.Ones()*(len(set)-overlap) {
				n.passing++
			}
		}
	}
	return n
}

// counted is how many bits of a mask the tokens of a set have in their codes, all together.
func counted(model *hashcodes.Model, set []uint64, mask uint32) (n int) {
	for _, token := range set {
		n += bits.OnesCount32(model.Code(make(hashcodes.Signature, 1), token)[0] & mask)
	}
	return n
}

func distance(m *hashcodes.Model, a, b []uint64) int {
	return hashcodes.Distance(m.Sign(make(hashcodes.Signature, m.Words()), a), m.Sign(make(hashcodes.Signature, m.Words()), b))
}

// TestCosineByHand: θ = 0.8. Sets of 4 and 5 tokens need 0.8 sqrt(20) = 3.58, so 4 in common, and may differ in one token;
// 5 and 5 need 4 exactly and may differ in two; 4 and 8 need 0.8 sqrt(32) = 4.53, more than 4 can have; 16 and 25 need 16.
func TestCosineByHand(t *testing.T) {
	m := text.Cosine.At(text.Threshold{Num: 4, Den: 5})
	for _, c := range []struct{ n, k, overlap, radius int }{
		{4, 5, 4, 1}, {5, 5, 4, 2}, {4, 8, 5, -1}, {16, 25, 16, 9}, {9, 9, 8, 2}, {10, 10, 8, 4}, {10, 12, 9, 4}, {1, 1, 1, 0},
	} {
		if got := m.MinOverlap(c.n, c.k); got != c.overlap {
			t.Errorf("overlap of %d and %d: %d, want %d", c.n, c.k, got, c.overlap)
		}
		for _, ones := range []int{1, 3} {
			want := c.radius
			if want > 0 {
				want *= ones
			}
			if got := hashcodes.Radius(m, ones, c.n, c.k); got != want {
				t.Errorf("radius of %d and %d with %d ones: %d, want %d", c.n, c.k, ones, got, want)
			}
		}
	}
	for n, want := range map[int][2]int{1: {1, 1}, 4: {3, 6}, 16: {11, 25}, 25: {16, 39}} {
		if minSize, maxSize := m.Sizes(n); minSize != want[0] || maxSize != want[1] {
			t.Errorf("sizes for %d: %d to %d, want %v", n, minSize, maxSize, want)
		}
	}
}

// TestMeasures: for all sizes up to 40 and beyond, bounds are as wide as similar sets need, and no wider.
func TestMeasures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		den := rapid.IntRange(1, 10_000).Draw(t, "den")
		threshold := text.Threshold{Num: rapid.IntRange(1, den).Draw(t, "num"), Den: den}
		n := rapid.IntRange(1, hashcodes.MaxSize).Draw(t, "n")
		k := rapid.IntRange(1, hashcodes.MaxSize).Draw(t, "k")
		for _, m := range []text.Measure{text.Jaccard.At(threshold), text.Cosine.At(threshold)} {
			checkBounds(t, m, n, k)
		}
	})
}

func checkBounds(t *rapid.T, m text.Measure, n, k int) {
	least := 1
	for least <= min(n, k) && !similar(m, least, n, k) {
		least++
	}
	want := n + k - 2*least
	if least > min(n, k) {
		want = -1
	} else if got := m.MinOverlap(n, k); got != least {
		t.Errorf("%v: overlap of %d and %d: %d, want %d", m, n, k, got, least)
	}
	if got := hashcodes.Radius(m, 1, n, k); got != want {
		t.Errorf("%v: radius of %d and %d: %d, want %d", m, n, k, got, want)
	}
	low, high := m.Sizes(n)
	if possible := low <= k && k <= high; possible != (want >= 0) {
		t.Errorf("%v: sizes for %d are %d to %d, and the radius for %d is %d", m, n, low, high, k, want)
	}
}

// similar is the definition, on integers: the cosine is at least θ when common² Den² >= Num² n k.
func similar(m text.Measure, common, n, k int) bool {
	t := m.Threshold
	if m.Similarity == text.Jaccard {
		return m.Reaches(common, n, k)
	}
	return n > 0 && k > 0 && common*common*t.Den*t.Den >= t.Num*t.Num*n*k
}

// TestLosesNothing: of random small sets, every two that are similar lie within the radius.
func TestLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.SliceOfNDistinct(rapid.Uint64Range(1, 9), 1, 9, rapid.ID[uint64])
		a, b := text.Set(set.Draw(t, "a")), text.Set(set.Draw(t, "b"))
		model, err := hashcodes.NewMD5(32, rapid.IntRange(1, 4).Draw(t, "ones"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range measures() {
			if !similar(m, text.Intersection(a, b), len(a), len(b)) {
				continue
			}
			if d, radius := distance(model, a, b), hashcodes.Radius(m, model.Ones(), len(a), len(b)); d > radius {
				t.Errorf("%v: %v and %v are %d apart, the radius is %d", m, a, b, d, radius)
			}
		}
	})
}

// randomSets are sets of skewed tokens, many of them changed copies of earlier ones.
func randomSets(r *rand.Rand, n, vocabulary int) (sets [][]uint64) {
	for range n {
		set := []uint64{uint64(r.IntN(vocabulary)) + 1}
		if len(sets) > 0 && r.IntN(3) > 0 {
			set = append(set, sets[r.IntN(len(sets))]...)
			set = set[:len(set)-r.IntN(min(len(set), 3))]
		}
		for range r.IntN(4) * r.IntN(6) {
			set = append(set, uint64(r.IntN(1+r.IntN(vocabulary)))+1)
		}
		sets = append(sets, text.Set(set))
	}
	return sets
}

func distinct(sets [][]uint64) (all [][]uint64) {
	seen := map[string]bool{}
	for _, set := range sets {
		if key := fmt.Sprint(set); !seen[key] {
			seen[key] = true
			all = append(all, set)
		}
	}
	return all
}

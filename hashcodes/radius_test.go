package hashcodes

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"refrain/text"
)

// TestRadiusAgainstSets tries, for sizes up to 300 and 51 thresholds, every intersection that two sets can have, and
// asks of each by the definition of Jaccard, as a rational, whether it reaches the threshold.
func TestRadiusAgainstSets(t *testing.T) {
	const largest = 300
	for percent := 50; percent <= 100; percent++ {
		threshold := mustThreshold(t, fmt.Sprintf("%d.%02d", percent/100, percent%100))
		for n := 1; n <= largest; n++ {
			for m := 1; m <= largest; m++ {
				want := largestDifference(percent, n, m)
				for _, ones := range []int{1, 3} {
					got := Radius(text.Jaccard.At(threshold), ones, n, m)
					if want < 0 && got != -1 || want >= 0 && got != ones*want {
						t.Fatalf("θ = %d %%, %d ones, sizes %d and %d: got %d, want %d differing tokens", percent, ones, n, m, got, want)
					}
				}
			}
		}
	}
}

// largestDifference is the largest |x Δ y| of sets of n and m tokens with |x ∩ y| / |x ∪ y| >= percent/100; -1 when
// no intersection reaches that. Fewer common tokens mean a larger difference, so the first that reaches it counts.
func largestDifference(percent, n, m int) int {
	for common := 0; common <= min(n, m); common++ {
		union := n + m - common
		if 100*common >= percent*union {
			return union - common
		}
	}
	return -1
}

func TestRadiusOfEmptySets(t *testing.T) {
	for _, c := range [][2]int{{0, 0}, {0, 5}, {5, 0}, {-1, 5}} {
		if got := Radius(text.Jaccard.At(text.Threshold{Num: 1, Den: 2}), 1, c[0], c[1]); got != -1 {
			t.Errorf("sizes %v: got %d, want -1", c, got)
		}
	}
}

// TestRadiusLosesNothing draws two similar sets and a model, and wants their signatures within the radius.
func TestRadiusLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := drawModel(t)
		x, y := drawSets(t)
		common, union := commonAndUnion(x, y)
		measure := drawMeasure(t)
		sx := model.Sign(make(Signature, model.Words()), x)
		sy := model.Sign(make(Signature, model.Words()), y)
		radius := Radius(measure, model.Ones(), len(x), len(y))
		if !measure.Reaches(common, len(x), len(y)) {
			t.Skip("not similar enough")
		}
		if d := Distance(sx, sy); d > radius {
			t.Fatalf("%d common reach %v, sizes %d and %d: distance %d, radius %d", common, measure, len(x), len(y), d, radius)
		}
		// The tightest threshold that this pair still reaches.
		exact := Radius(text.Jaccard.At(text.Threshold{Num: common, Den: union}), model.Ones(), len(x), len(y))
		if d := Distance(sx, sy); d > exact {
			t.Fatalf("J = %d/%d, sizes %d and %d: distance %d, radius %d", common, union, len(x), len(y), d, exact)
		}
	})
}

func drawMeasure(t *rapid.T) text.Measure {
	den := rapid.IntRange(1, 100).Draw(t, "den")
	similarity := rapid.SampledFrom([]text.Similarity{text.Jaccard, text.Cosine, text.Dice}).Draw(t, "similarity")
	return similarity.At(text.Threshold{Num: rapid.IntRange(1, den).Draw(t, "num"), Den: den})
}

// drawSets draws two sets of tokens below 400 that share at least one.
func drawSets(t *rapid.T) (x, y []uint64) {
	token := rapid.Uint64Range(0, 399)
	common := rapid.SliceOfNDistinct(token, 1, 120, rapid.ID).Draw(t, "common")
	onlyX := rapid.SliceOfNDistinct(token, 0, 20, rapid.ID).Draw(t, "only x")
	onlyY := rapid.SliceOfNDistinct(token, 0, 20, rapid.ID).Draw(t, "only y")
	return union(common, onlyX), union(common, onlyY)
}

func union(a, b []uint64) []uint64 {
	in := map[uint64]bool{}
	var u []uint64
	for _, list := range [][]uint64{a, b} {
		for _, v := range list {
			if !in[v] {
				in[v] = true
				u = append(u, v)
			}
		}
	}
	return u
}

func commonAndUnion(x, y []uint64) (common, all int) {
	in := map[uint64]bool{}
	for _, v := range x {
		in[v] = true
	}
	for _, v := range y {
		if in[v] {
			common++
		}
	}
	return common, len(x) + len(y) - common
}

// drawModel draws a model of any shape: hashed codes, and a vocabulary of tokens below 400 with codes of fewer ones.
func drawModel(t *rapid.T) *Model {
	about := Description{
		Bits:        rapid.SampledFrom([]int{32, 64, 128, 256}).Draw(t, "bits"),
		Ones:        rapid.IntRange(1, MaxOnes).Draw(t, "ones"),
		Learner:     rapid.StringN(1, 16, 16).Draw(t, "learner"),
		Seed:        rapid.Uint64().Draw(t, "seed"),
		TrainedOn:   rapid.SampledFrom([]string{"", "null", `{"sentences":3}`}).Draw(t, "trained on"),
		TextVersion: rapid.IntRange(0, 9).Draw(t, "text version"),
	}
	tokens := rapid.OneOf(rapid.Uint64Range(0, 399), rapid.Uint64())
	var entries []Entry
	for _, token := range rapid.SliceOfNDistinct(tokens, 0, 40, rapid.ID).Draw(t, "vocabulary") {
		e := Entry{Token: token, Frequency: rapid.Uint32().Draw(t, "frequency"), Hashed: rapid.Bool().Draw(t, "hashed")}
		if !e.Hashed {
			e.Positions = drawPositions(t, about.Bits, about.Ones)
		}
		entries = append(entries, e)
	}
	m, err := New(about, entries)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func drawPositions(t *rapid.T, bits, ones int) []uint8 {
	s := make(Signature, bits/32)
	for _, p := range rapid.SliceOfNDistinct(rapid.IntRange(0, bits-1), 0, ones, rapid.ID).Draw(t, "positions") {
		s.set(uint8(p))
	}
	return s.positions()
}

func mustThreshold(tb testing.TB, s string) text.Threshold {
	tb.Helper()
	threshold, err := text.ParseThreshold(s)
	if err != nil {
		tb.Fatal(err)
	}
	return threshold
}

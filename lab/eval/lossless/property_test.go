package lossless

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"refrain/hashcodes"
	"refrain/lab/eval"
	"refrain/lab/eval/corpus"
	"refrain/text"
)

// TestPropertyHolds checks pairs of random sets, and that every pair was checked.
func TestPropertyHolds(t *testing.T) {
	p := mustCheck(t, 0)
	figures, err := p.figures("random")
	if err != nil {
		t.Fatal(err)
	}
	for at, threshold := range p.thresholds {
		want := len(brute(text.Jaccard.At(threshold), p.sets))
		if threshold.Num == threshold.Den {
			want = 40 // repeats
		}
		f := figures[at]
		if f.Pairs != want || f.Outside != 0 {
			t.Errorf("θ %s: %d pairs, %d outside, want %d and none", f.Threshold, f.Pairs, f.Outside, want)
		}
		if radius := threshold.Num < threshold.Den; radius != (f.Mean > 0) || f.Mean > 1 {
			t.Errorf("θ %s: mean of distance / radius %v", f.Threshold, f.Mean)
		}
	}
	if g := p.grid("random", figures); len(g.Rows) != 1+len(p.models) || !slices.Contains(g.Head, "exceptions") {
		t.Errorf("grid %v", g)
	}
}

// TestPropertyNoticesANarrowRadius: with every radius one bit less there are exceptions at every threshold, and they are
// an error.
func TestPropertyNoticesANarrowRadius(t *testing.T) {
	p := mustCheck(t, 1)
	figures, err := p.figures("random")
	if err == nil || !strings.Contains(err.Error(), "outside the radius") {
		t.Errorf("error %v", err)
	}
	for _, f := range figures[:len(p.thresholds)] {
		if f.Outside == 0 {
			t.Errorf("%s, θ %s: no exception", f.Model, f.Threshold)
		}
	}
}

func mustCheck(t *testing.T, narrower int) *property {
	t.Helper()
	sets := distinct(randomSets(rand.New(rand.NewPCG(5, 6)), 600, 300))
	s := &corpus.Sentences{Sets: sets}
	for i := range len(sets) + 40 { // the first forty twice
		s.Groups = append(s.Groups, uint32(i%len(sets)))
	}
	var models []checkedModel
	for _, ones := range []int{1, 2} {
		m, err := hashcodes.NewMD5(64, ones)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, checkedModel{m.Name(), m})
	}
	var list []text.Threshold
	for _, s := range []string{"0.5", "0.6", "0.8", "0.9", "1"} {
		threshold, err := text.ParseThreshold(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, threshold)
	}
	p := newProperty(list, models, s)
	p.narrower = narrower
	if err := p.run(context.Background(), &eval.Config{}, "random"); err != nil {
		t.Fatal(err)
	}
	return p
}

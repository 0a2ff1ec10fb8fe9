package hashcodes

import (
	"testing"

	"refrain/text"
)

// TestBounds compares every field with what it stands for, asked of the measure directly.
func TestBounds(t *testing.T) {
	for _, measure := range measures(text.Threshold{Num: 1, Den: 2}, text.Threshold{Num: 4, Den: 5},
		text.Threshold{Num: 2, Den: 3}, text.Threshold{Num: 1, Den: 1}) {
		b := NewBounds(measure, 2)
		for n := 1; n <= MaxSize; n++ {
			s := b.For(n)
			for m := 1; m <= MaxSize; m++ {
				radius := Radius(measure, 2, n, m)
				if inside := s.Min <= m && m <= s.Max; inside != (radius >= 0) {
					t.Fatalf("%v: sizes %d and %d: inside the bounds %v, radius %d", measure, n, m, inside, radius)
				}
				if radius < 0 {
					continue
				}
				if got := int(s.Radius[m-s.Min]); got != radius {
					t.Errorf("%v: sizes %d and %d: radius %d, want %d", measure, n, m, got, radius)
				}
				if got, want := int(s.Overlap[m-s.Min]), measure.MinOverlap(n, m); got != want {
					t.Errorf("%v: sizes %d and %d: overlap %d, want %d", measure, n, m, got, want)
				}
				// Of n tokens, a partner shares Overlap; those it lacks are too few to fill the prefix.
				if lacks := n - measure.MinOverlap(n, m); s.Prefix <= lacks {
					t.Errorf("%v: sizes %d and %d: a prefix of %d tokens may miss a partner that lacks %d", measure, n,
						m, s.Prefix, lacks)
				}
			}
		}
	}
}

// measures are those of all similarities at some thresholds.
func measures(thresholds ...text.Threshold) (all []text.Measure) {
	for _, t := range thresholds {
		all = append(all, text.Jaccard.At(t), text.Cosine.At(t), text.Dice.At(t))
	}
	return all
}

// TestBoundsOfNothing: an empty set has no partners, and is no other's.
func TestBoundsOfNothing(t *testing.T) {
	for _, measure := range measures(text.Threshold{Num: 1, Den: 1000}, text.Threshold{Num: 4, Den: 5},
		text.Threshold{Num: 1, Den: 1}) {
		b := NewBounds(measure, 2)
		if s := b.For(0); s.Min <= s.Max || len(s.Radius) > 0 || len(s.Overlap) > 0 {
			t.Errorf("%v: got %+v", measure, s)
		}
		for n := 1; n <= MaxSize; n++ {
			if b.For(n).Min < 1 {
				t.Errorf("%v: a set of none is a partner of %d tokens", measure, n)
			}
		}
	}
}

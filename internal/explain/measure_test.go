package explain

import (
	"strings"
	"testing"

	"refrain/hashcodes"
	"refrain/text"
)

// TestWhyByMeasure: sets of 6 and 4 tokens, 4 in common.
func TestWhyByMeasure(t *testing.T) {
	for _, c := range []struct {
		similarity text.Similarity
		threshold  text.Threshold
		why        string
		radius     int
	}{
		{text.Jaccard, text.Threshold{Num: 3, Den: 5}, "match: Jaccard 4/6 = 0.667 reaches 3/5", 2},
		{text.Jaccard, text.Threshold{Num: 4, Den: 5}, "no match: sets of 6 and 4 tokens cannot reach 4/5", -1},
		{text.Cosine, text.Threshold{Num: 4, Den: 5}, "match: cosine 4/√(6·4) = 0.816 reaches 4/5", 2},
		{text.Dice, text.Threshold{Num: 4, Den: 5}, "match: Dice 2·4/(6+4) = 0.800 reaches 4/5", 2},
		{text.Dice, text.Threshold{Num: 81, Den: 100}, "no match: sets of 6 and 4 tokens cannot reach 81/100", -1},
	} {
		s := Settings{Measure: c.similarity.At(c.threshold), Model: hashcodes.Default(), MinTokens: 4}
		e, err := Texts("one two three four five six", "four three two one", s)
		if err != nil || len(e.Pairs) != 1 {
			t.Fatal(e, err)
		}
		p := e.Pairs[0]
		if p.Why != c.why || p.Radius != c.radius || p.Matches != strings.HasPrefix(c.why, "match") ||
			e.Measure != c.similarity.String() || p.Similarity != c.similarity.Value(4, 6, 4) {
			t.Errorf("%v: got %+v, want %s and radius %d", s.Measure, p, c.why, c.radius)
		}
	}
}

package auto

import (
	"testing"

	"refrain/hashcodes"
	"refrain/text"
)

// TestNear: of a window that is all in the sample, near counts exactly the pairs within the radius that are not similar enough;
// of a larger one as many as its rows are more.
func TestNear(t *testing.T) {
	const rows = 400
	trial := newTrial(rows)
	similar := text.Jaccard.At(text.Threshold{Num: 2, Den: 5})
	bounds := hashcodes.NewBounds(similar, 1)
	x := &index{cfg: Config{Bounds: bounds}, source: trial, rows: []uint32{rows / 2, 0, 0}}
	count := func(rows int) (pairs int) {
		for _, a := range trial.tokens[:rows] {
			for _, b := range trial.tokens[:rows] {
				if bounds := bounds.For(len(a)); len(b) >= bounds.Min && len(b) <= bounds.Max &&
					hashcodes.Distance(trial.Signature(a), trial.Signature(b)) <= int(bounds.Radius[len(b)-bounds.Min]) &&
					!similar.Reaches(overlap(a, b), len(a), len(b)) {
					pairs++
				}
			}
		}
		return pairs
	}
	for _, n := range []int{rows / 2, rows} {
		x.rows[0] = uint32(n)
		want := float64(count(n)) / float64(n)
		if got := x.near(); want < 0.1 || got < 0.999*want || got > 1.001*want {
			t.Errorf("%d rows: %v near rows a query, want %v", n, got, want)
		}
	}
	if x.rows[0] = 0; x.near() != 0 {
		t.Error("an empty window has near rows")
	}
}

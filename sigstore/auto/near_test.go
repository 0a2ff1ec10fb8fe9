package auto

import (
	"math/bits"
	"slices"
	"testing"

	"refrain/hashcodes"
	"refrain/text"
)

// TestNear: of a window that is all in the sample, near counts exactly the pairs that pass the holders and are not similar enough;
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
				if bounds := bounds.For(len(a)); len(b) < bounds.Min || len(b) > bounds.Max {
					continue
				}
				tokens, further := bounds.For(len(a)).Apart(len(b))
				if outside, alone := apart(trial, a, b); outside <= tokens && alone <= further &&
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

// apart counts the tokens of a whose codes are not inside b's signature, and the bits that it has alone, by definition.
func apart(trial *trial, a, b []uint32) (outside, alone int) {
	x, y := slices.Clone(trial.Signature(a)), slices.Clone(trial.Signature(b))
	for _, token := range a {
		for w, word := range trial.Signature([]uint32{token}) {
			if word&^y[w] != 0 {
				outside++
				break
			}
		}
	}
	for w := range x {
		alone += bits.OnesCount32(y[w] &^ x[w])
	}
	return outside, alone
}

// TestAskedAgain: what an engine costs that is not known yet is asked for with every block, and once it is known as seldom as
// all else: when half of the rows are new.
func TestAskedAgain(t *testing.T) {
	const rows = 400
	asked := 0
	trial := newTrial(rows)
	x := &index{Index: trial.index, source: trial, rows: []uint32{rows}, added: rows, cfg: Config{
		Bounds: hashcodes.NewBounds(text.Jaccard.At(text.Threshold{Num: 3, Den: 5}), 1), Few: 1,
		Choices: []Choice{
			{Name: "prefix", Cost: func(Load) float64 { return 9000 }},
			OnCard(nil, func() (Card, error) {
				if asked++; asked < 3 {
					return Card{}, ErrNotYet
				}
				return Card{Launch: 1e9, Batch: 256}, nil
			}),
		},
	}}
	x.choice = &x.cfg.Choices[0]
	for block, want := range []int{1, 2, 3, 3, 3} {
		if x.choose(); asked != want || x.choice.Name != "prefix" {
			t.Errorf("block %d: asked %d times, want %d; the choice is %s", block, asked, want, x.choice.Name)
		}
	}
	x.added = rows / 2
	if x.choose(); asked != 4 {
		t.Errorf("half of the rows are new: asked %d times, want 4", asked)
	}
}

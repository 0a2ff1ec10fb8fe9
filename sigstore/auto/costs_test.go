package auto

import (
	"math"
	"testing"

	"refrain/sigstore"
	"refrain/sigstore/scan"
)

// TestCosts: the model follows what decides, on a machine with given constants: more rows cost a scan more, common words
// cost a prefix index more, and where every row shares the rarest tokens a scan is the better choice.
func TestCosts(t *testing.T) {
	prefix := func(l Load) float64 { return prefixCost(1, l) }
	scan := func(l Load) float64 { return scanCost(scan.Cost{PerPass: 20, PerRow: 0.04}, 2, l) }
	usual := Load{Threshold: 0.6, Rows: 1e5, Blocks: 9, Batch: 64, Bands: 12, Compared: 6e4, Probes: 5, Postings: 300}
	large, common, alone := usual, usual, usual
	large.Rows, large.Compared = 1e6, 6e5
	common.Postings = 6e4
	alone.Batch = 1
	if prefix(usual) > scan(usual) || prefix(common) < scan(common) || scan(large) < 3*scan(usual) ||
		scan(alone) < scan(usual) {
		t.Errorf("prefix %.0f ns, scan %.0f; common tokens %.0f, %.0f; large %.0f; one query at a time %.0f",
			prefix(usual), scan(usual), prefix(common), scan(common), scan(large), scan(alone))
	}
}

// TestCalibration: what is measured is a time.
func TestCalibration(t *testing.T) {
	if s, c := speed(), pass(2); s <= 0 || c.PerRow <= 0 && c.PerPass <= 0 {
		t.Errorf("speed %v, costs of a scan %+v", s, c)
	}
}

// TestCardCost: on a GPU launches count where few queries come together, comparisons in large windows, and near rows always.
func TestCardCost(t *testing.T) {
	h200 := Card{Launch: 50e3, Comparison: 1 / 1.8e3, Batch: 256}
	usual := Load{Threshold: 0.6, Rows: 1e6, Compared: 6e5, Together: math.Inf(1)}
	alone, large, near := usual, usual, usual
	alone.Together = 1
	large.Compared = 6e6
	near.nearRows = func() float64 { return 100 }
	cost := func(l Load) float64 { return cardCost(h200, l) }
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"usual", cost(usual), 1800 + 50e3/256. + 6e5/1.8e3}, {"alone", cost(alone), 1800 + 50e3 + 6e5/1.8e3},
		{"large", cost(large), 1800 + 50e3/256. + 6e6/1.8e3}, {"near", cost(near), cost(usual) + 70_000},
	} {
		if math.Abs(c.got-c.want) > 1e-6*c.want {
			t.Errorf("%s: %.0f ns, want %.0f", c.name, c.got, c.want)
		}
	}
}

// TestTogether: of an engine that takes few at once nothing is learned but that there were no fewer; so a window that has seen
// on a GPU that sentences come one by one does not go there again.
func TestTogether(t *testing.T) {
	engine := &taking{}
	x := &index{Index: engine, together: math.Inf(1)}
	for _, c := range []struct {
		limit       int
		batch, want float64
	}{
		{1, 1, math.Inf(1)}, {8, 8, math.Inf(1)}, {256, 2.5, 2.5}, {1, 1, 2.5}, {8, 2, 2}, {8, 7.9, math.Inf(1)},
		{256, 256, math.Inf(1)}, {256, 100, 100}, {8, 8, 100},
	} {
		engine.limit = c.limit
		if x.learnTogether(c.batch); x.together != c.want {
			t.Errorf("batches of %v of %d: got %v, want %v", c.batch, c.limit, x.together, c.want)
		}
	}
}

// taking is an index that takes so many queries at once.
type taking struct {
	sigstore.Index
	limit int
}

func (x *taking) Batch() int { return x.limit }

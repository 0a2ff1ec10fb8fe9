package auto

import (
	"math/bits"
	"testing"

	"refrain/hashcodes"
	"refrain/sigstore/scan"
	"refrain/text"
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

// TestGPUCost: more rows, more windows beside, fewer queries at once and more false candidates cost more.
func TestGPUCost(t *testing.T) {
	g := GPU{Launch: 50_000, Comparison: 1e-3, Sharing: 1}
	usual := Load{Rows: 1e6, Compared: 6e5, Demand: 100}
	shared, large, few, unknown := g, usual, usual, usual
	shared.Sharing, large.Compared, few.Demand, unknown.Demand = 4, 6e6, 1, 0
	cost := func(g GPU, l Load) float64 { return gpuCost(1, g, 256, l) }
	if cost(g, usual) != 1800+500+600 || cost(shared, usual) != 1800+4*1100 || cost(g, large) != 1800+500+6000 ||
		cost(g, few) != 1800+50_000+600 || cost(g, unknown) >= cost(g, usual) {
		t.Errorf("usual %v, shared %v, large %v, few %v, unknown %v", cost(g, usual), cost(shared, usual), cost(g, large), cost(g, few),
			cost(g, unknown))
	}
}

// TestFalseCandidates compares with every pair of a small window, one by one.
func TestFalseCandidates(t *testing.T) {
	const rows = 600
	window, bounds := newTrial(rows), hashcodes.NewBounds(text.Jaccard.At(text.Threshold{Num: 2, Den: 5}), 1)
	x := &index{cfg: Config{Bounds: bounds}, source: window, choice: &Choice{}, rows: []uint32{rows}}
	l := x.load()
	want := 0
	for _, a := range window.tokens {
		for _, b := range window.tokens {
			if passesForNothing(bounds.For(len(a)), window, a, b) {
				want++
			}
		}
	}
	if got := l.falseCandidates(); want < rows || got != float64(want)/rows {
		t.Errorf("got %v a look-up, want %v", got, float64(want)/rows)
	}
	l.Rows *= 8
	if got := l.falseCandidates(); got != 8*float64(want)/rows {
		t.Errorf("in eight times as many rows: got %v, want %v", got, 8*float64(want)/rows)
	}
}

func passesForNothing(b *hashcodes.SizeBounds, window *trial, x, y []uint32) bool {
	if len(y) < b.Min || len(y) > b.Max || inBoth(x, y) >= int(b.Overlap[len(y)-b.Min]) {
		return false
	}
	tokens, further := b.Apart(len(y))
	sig, other, outside := window.Signature(x), window.Signature(y), 0
	for _, token := range x {
		one := window.Signature([]uint32{token})
		if one[0]&^other[0] != 0 || one[1]&^other[1] != 0 {
			outside++
		}
	}
	return outside <= tokens && bits.OnesCount32(other[0]&^sig[0])+bits.OnesCount32(other[1]&^sig[1]) <= further
}

package auto

import (
	"testing"

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

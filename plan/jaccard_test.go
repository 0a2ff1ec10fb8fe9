package plan_test

import (
	"math"
	"testing"

	"refrain/plan"
	"refrain/text"
)

// TestMeasures: Dice at 0.8 is Jaccard at 2/3, a cosine of 0.8 has the prefixes and sizes of Jaccard at 0.64, and where nothing
// else was measured both cost what that does. What was measured of the cosine is less.
func TestMeasures(t *testing.T) {
	for measure, same := range map[string]float64{"jaccard": 0.8, "cosine": 0.64, "dice": 2. / 3} {
		by, jaccard := feedOf(1e8), feedOf(1e8)
		by.Measure, jaccard.Threshold = measure, same
		if got, bound := mustPlan(t, by, plan.DefaultMachine()), mustPlan(t, jaccard, plan.DefaultMachine()); measure == "cosine" &&
			(got.LookupMicros >= bound.LookupMicros || got.LookupMicros < bound.LookupMicros/2) {
			t.Errorf("cosine, measured: %v µs, at most %v", got.LookupMicros, bound.LookupMicros)
		}
		c := plan.DefaultCosts()
		c.Cosine = nil
		got, want := planWith(t, by, c), planWith(t, jaccard, c)
		if math.Abs(got.LookupMicros-want.LookupMicros) > 1e-9*want.LookupMicros || got.Workers != want.Workers {
			t.Errorf("%s: %v µs, %d workers, want %v, %d", measure, got.LookupMicros, got.Workers, want.LookupMicros, want.Workers)
		}
	}
	m := text.Cosine.At(text.Threshold{Num: 4, Den: 5})
	if prefix := text.Jaccard.At(text.Threshold{Num: 16, Den: 25}).Prefix(100); m.Prefix(100) != prefix {
		t.Errorf("the prefix by the cosine is %d, by Jaccard %d", m.Prefix(100), prefix)
	}
	f := feedOf(1e8)
	f.Measure = "overlap"
	if _, err := plan.Plan(f, plan.DefaultMachine(), plan.DefaultCosts()); err == nil {
		t.Error("overlap is planned for")
	}
}

func planWith(t *testing.T, f plan.Feed, c plan.Costs) plan.Result {
	t.Helper()
	r, err := plan.Plan(f, plan.DefaultMachine(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

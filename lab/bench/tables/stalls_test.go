package tables

import "testing"

// TestStalls: every figure is there, of a window in which blocks go.
func TestStalls(t *testing.T) {
	o := QuickStalls()
	o.Rows = []int{5000, 20_000}
	r, err := Stalls(t.Context(), growthConfig(), o)
	if err != nil {
		t.Fatal(err)
	}
	all := r.Figures.([]StallsFigure)
	if len(all) != 2 || len(r.Grids) != 1 || len(r.Grids[0].Rows) != 2 {
		t.Fatalf("%+v", r)
	}
	for _, f := range all {
		if f.Fill <= 0 || f.Shared <= 0 || f.Grow <= 0 || f.Roll <= 0 || f.Drop <= 0 || f.Bytes <= 0 || f.RSS < f.Bytes {
			t.Errorf("%+v", f)
		}
	}
	if all[1].Bytes < 2*all[0].Bytes {
		t.Errorf("four times the rows take %d bytes instead of %d", all[1].Bytes, all[0].Bytes)
	}
}

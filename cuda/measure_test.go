//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"testing"
)

// All kernels are measured on all tables, and found right; a table that does not fit is skipped.
func TestMeasure(t *testing.T) {
	f := newFake(t)
	d := f.open(t, func(c *Config) { c.Budget = 10 << 20 })
	var progress []int
	config := DefaultMeasure(d)
	config.Words, config.Rows, config.Queries, config.Check, config.Runs = []int{1, 3},
		[]int{1000, 5000, 3 * measuredBlock}, 40, 40, 1
	config.Progress = func(done, total int, _ Measurement) { progress = append(progress, done, total) }
	got, err := Measure(d, config)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 24 || len(progress) != 48 || progress[46] != 24 || progress[47] != 24 {
		t.Fatalf("%d measurements, progress %v", len(got), progress)
	}
	for _, m := range got {
		if m.Rows > 5000 || m.Words == 3 {
			if m.Skipped == "" {
				t.Errorf("%+v: want it skipped", m)
			}
			continue
		}
		if m.Skipped != "" || m.Wrong != 0 || m.Checked != 40 || m.Hits < 3 || m.PerSecond() <= 0 || m.Scan < m.Device {
			t.Errorf("%+v", m)
		}
	}
}

// A kernel that is wrong by the time it is measured shows.
func TestMeasureWrong(t *testing.T) {
	f := newFake(t)
	d := f.open(t)
	f.Break("bmma")
	config := DefaultMeasure(d)
	config.Words, config.Rows, config.Queries, config.Check, config.Runs = []int{2}, []int{1000}, 33, 33, 1
	got, err := Measure(d, config)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range got {
		if wrong := m.Wrong > 0; wrong != (m.Kernel == "bmma") {
			t.Errorf("%+v", m)
		}
	}
}

package plan_test

import (
	"testing"
	"time"

	"refrain/plan"
)

// TestPartitionsAreDealtToGPUs: a GPU more takes load off the fullest only where that has a partition fewer, and one that has no
// partition does not count.
func TestPartitionsAreDealtToGPUs(t *testing.T) {
	f := feedOf(1e9)
	f.Span, f.Threshold = 7*24*time.Hour, 0.6
	m := plan.DefaultMachine()
	m.GPUMemory = 141e9
	for _, m.GPUs = range []int{1, 3, 6, 20} {
		r := mustPlan(t, f, m)
		if r.Engine != "cuda" {
			t.Fatalf("%d GPUs: planned by %s", m.GPUs, r.Engine)
		}
		if want := min(m.GPUs, r.WorkerPartitions) * r.Workers; r.GPUs != want {
			t.Errorf("%d GPUs, %d partitions of a worker: %d count, want %d", m.GPUs, r.WorkerPartitions, r.GPUs, want)
		}
		held := 0.0
		for _, l := range r.Loads {
			if l.Name == plan.CardBytes {
				held = l.Value * 0.9 * m.GPUMemory
			}
		}
		dealt := (r.WorkerPartitions + m.GPUs - 1) / m.GPUs
		perRow := plan.DefaultCosts().GPU.Bytes + float64(f.Bits)/8
		near(t, "bytes of the fullest GPU", held, r.WindowRows/float64(r.Partitions)*float64(dealt)*perRow)
		t.Logf("%d GPUs: %d workers, %d partitions each, %d GPUs count", m.GPUs, r.Workers, r.WorkerPartitions, r.GPUs)
	}
}

package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"refrain/cuda"
	"refrain/internal/units"
	"refrain/lab/report"
)

// GPUOptions are what GPU asks besides.
type GPUOptions struct {
	Device int
	Rows   []int // of the series
}

// DefaultGPU is the table's: 0.1 M to 1 M, and by powers of ten to 10⁹.
func DefaultGPU() GPUOptions {
	return GPUOptions{Rows: []int{100_000, 200_000, 500_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000}}
}

// QuickGPU is a quick run's.
func QuickGPU() GPUOptions { return GPUOptions{Rows: []int{100_000, 1_000_000}} }

// GPU measures every kernel of a device: comparisons a second, hits against those of the CPU on 10⁸ signatures, and the
// series of the paper's Figure 6, up to what memory holds.
func GPU(ctx context.Context, c *Config, o GPUOptions) (*report.Report, error) {
	cfg := cuda.Default()
	cfg.Device, cfg.Timeout = o.Device, 10*time.Minute // the baseline takes its time for a billion signatures
	d, err := cuda.Open(cfg)
	if err != nil {
		return nil, withGPUHint(err)
	}
	r, err := c.gpu(ctx, d, o)
	return r, errors.Join(err, d.Close())
}

// NoGPU says why GPU cannot measure anything here; nil: it can.
func NoGPU() error {
	d, err := cuda.Open(cuda.Default())
	if err != nil {
		return withGPUHint(err)
	}
	return d.Close()
}

// withGPUHint adds to the error what a machine without a GPU lacks.
func withGPUHint(err error) error {
	if !errors.Is(err, cuda.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: this needs an NVIDIA GPU and its driver (libcuda.so.1), with 4 GB of memory free for "+
		"10⁹ signatures of 32 bits, and about ten minutes", err)
}

func (c *Config) gpu(ctx context.Context, d *cuda.Device, o GPUOptions) (*report.Report, error) {
	if err := wantPositive("rows", o.Rows...); err != nil {
		return nil, err
	}
	o.Rows = slices.Sorted(slices.Values(o.Rows))
	_, budget := d.Memory()
	r := c.report("gpu", fmt.Sprintf("Hamming kernels on %s, %d multiprocessors, %s of memory to use.", d.Name(),
		d.Processors(), units.Bytes(budget)),
		"uniform random signatures, 2,000 queries, of which one in 16 is near to a row")
	var all []cuda.Measurement
	// One size at a time, so that it can be interrupted between them.
	for _, rows := range o.Rows {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		cfg := cuda.DefaultMeasure(d)
		cfg.Rows, cfg.Runs = []int{rows}, c.Runs
		if rows > maxChecked {
			cfg.Check = 0
		}
		cfg.Progress = func(_, _ int, m cuda.Measurement) {
			c.step("gpu: %s, %d bits, %s rows: %s G/s %s", m.Kernel, 32*m.Words, units.Thousands(m.Rows),
				units.Three(m.PerSecond()/1e9), m.Skipped)
		}
		some, err := cuda.Measure(d, cfg)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	r.Figures, r.Grids = all, gpuGrids(all, d.Kernels())
	for _, m := range all {
		if m.Wrong > 0 {
			return nil, fmt.Errorf("kernel %s is wrong for %d of %d queries among %d signatures of %d bits", m.Kernel, m.Wrong,
				m.Checked, m.Rows, 32*m.Words)
		}
	}
	checked := slices.MaxFunc(all, func(a, b cuda.Measurement) int {
		return min(a.Checked, 1)*a.Rows - min(b.Checked, 1)*b.Rows
	})
	r.Note("the hits of %d queries are the same as by the CPU, by every kernel and size, up to %s signatures",
		checked.Checked, units.Thousands(checked.Rows))
	r.Note("medians of %d runs after one to warm up; device: while it compares; call: until all hits are back, sorted", c.Runs)
	r.Note("paper is the kernel of Zhang et al., SIGIR 2012: one thread a signature, one launch a query")
	return r, nil
}

// maxChecked rows are those in which hits are compared with the CPU's: in more it would take minutes.
const maxChecked = 100_000_000

func gpuGrids(all []cuda.Measurement, kernels []string) (grids []report.Grid) {
	for _, words := range []int{1, 2} {
		speed := report.Grid{Caption: fmt.Sprintf("**%d bits, radius %d**: 10⁹ comparisons a second on the device", 32*words,
			3*words), Head: append([]string{"signatures"}, kernels...)}
		figure6 := report.Grid{Caption: fmt.Sprintf("**%d bits**, Figure 6 of the paper: ms for 2,000 queries, device / call",
			32*words), Head: speed.Head}
		for _, rows := range sizesOf(all) {
			fast, slow := []any{units.Thousands(rows)}, []any{units.Thousands(rows)}
			for _, kernel := range kernels {
				i := slices.IndexFunc(all, func(m cuda.Measurement) bool {
					return m.Kernel == kernel && m.Words == words && m.Rows == rows && m.Skipped == ""
				})
				if i < 0 {
					fast, slow = append(fast, "-"), append(slow, "-")
					continue
				}
				m := &all[i]
				fast = append(fast, units.Three(m.PerSecond()/1e9))
				slow = append(slow, units.Three(1e3*m.Device.Seconds())+" / "+units.Three(1e3*m.Scan.Seconds()))
			}
			speed.Add(fast...)
			figure6.Add(slow...)
		}
		grids = append(grids, speed, figure6)
	}
	return grids
}

func sizesOf(all []cuda.Measurement) (sizes []int) {
	for _, m := range all {
		if !slices.Contains(sizes, m.Rows) {
			sizes = append(sizes, m.Rows)
		}
	}
	return sizes
}

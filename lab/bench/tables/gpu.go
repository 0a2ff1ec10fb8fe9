package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"refrain/cuda"
	"refrain/internal/units"
	"refrain/lab/bench/peers/searchers"
	"refrain/lab/report"
)

// GPUOptions are what GPU asks besides.
type GPUOptions struct {
	Device  int
	Rows    []int // of the series
	Queries int
}

// DefaultGPU is the table's: the ten sizes of the paper's Table 5, and by powers of ten to 10⁹.
func DefaultGPU() GPUOptions {
	o := GPUOptions{Queries: 2000}
	for i := range paperGPU() {
		o.Rows = append(o.Rows, (i+1)*paperStep)
	}
	o.Rows = append(o.Rows, 10_000_000, 100_000_000, 1_000_000_000)
	return o
}

// QuickGPU is a quick run's.
func QuickGPU() GPUOptions { return GPUOptions{Rows: []int{100_000, 1_000_000}, Queries: 2000} }

// GPU measures every kernel of a device: comparisons a second, hits against those of the CPU on 10⁸ signatures, and the
// series of the paper's Figure 6, up to what memory holds.
func GPU(ctx context.Context, c *Config, o GPUOptions) (*report.Report, error) {
	if err := errors.Join(wantPositive("rows", o.Rows...), wantPositive("queries", o.Queries)); err != nil {
		return nil, err
	}
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
	o.Rows = slices.Sorted(slices.Values(o.Rows))
	_, budget := d.Memory()
	r := c.report("gpu", fmt.Sprintf("Hamming kernels on %s, %d multiprocessors, %s of memory to use.", d.Name(),
		d.Processors(), units.Bytes(budget)),
		fmt.Sprintf("uniform random signatures, %s queries, of which one in 16 is near to a row", units.Thousands(o.Queries)))
	var all []cuda.Measurement
	// One size at a time, so that it can be interrupted between them.
	for _, rows := range o.Rows {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		cfg := cuda.DefaultMeasure(d)
		cfg.Rows, cfg.Runs, cfg.Queries, cfg.Check = []int{rows}, c.Runs, o.Queries, min(cfg.Check, o.Queries)
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
	r.Note("%s, after one to warm up; device: while it compares; call: until all hits are back, sorted", c.medians())
	r.Note("paper is the kernel of Zhang et al., SIGIR 2012: one thread a signature, one launch a query; paper, 2012: as it is " +
		"printed there, a Quadro 4000, signatures of sentences")
	noteCard(ctx, r, o.Device)
	return r, nil
}

// maxChecked rows are those in which hits are compared with the CPU's: in more it would take minutes.
const maxChecked = 100_000_000

func gpuGrids(all []cuda.Measurement, kernels []string) (grids []report.Grid) {
	head := append([]string{"signatures"}, kernels...)
	table5 := gpuGrid(all, kernels, 1, func(m *cuda.Measurement) string { return units.Three(m.Scan.Seconds()) })
	table5.Caption = "**Table 5 of the paper**: seconds for all queries, 32 bits, radius 3, until all hits are back"
	table5.Head = append(slices.Clone(head), "paper, 2012")
	table5.Rows = slices.DeleteFunc(table5.Rows, func(row []string) bool { return paperSeconds(row[0]) == "" })
	for i, row := range table5.Rows {
		table5.Rows[i] = append(row, paperSeconds(row[0]))
	}
	grids = append(grids, table5)
	for _, words := range []int{1, 2} {
		speed := gpuGrid(all, kernels, words, func(m *cuda.Measurement) string { return units.Three(m.PerSecond() / 1e9) })
		speed.Caption = fmt.Sprintf("**%d bits, radius %d**: 10⁹ comparisons a second on the device", 32*words, 3*words)
		figure6 := gpuGrid(all, kernels, words, func(m *cuda.Measurement) string {
			return units.Three(1e3*m.Device.Seconds()) + " / " + units.Three(1e3*m.Scan.Seconds())
		})
		figure6.Caption = fmt.Sprintf("**%d bits**, Figure 6 of the paper: ms for all queries, device / call", 32*words)
		speed.Head, figure6.Head = head, head
		grids = append(grids, speed, figure6)
	}
	return grids
}

// paperStep is from one size of the paper's Table 5 to the next.
const paperStep = 100_000

// paperGPU is the column of the paper's own GPU.
func paperGPU() (seconds []float64) {
	for _, column := range searchers.Paper {
		if column.Name == "paper: GPU" {
			seconds = column.Seconds[:]
		}
	}
	return seconds
}

// paperSeconds is what the paper's GPU takes for so many signatures; "" where it says nothing.
func paperSeconds(signatures string) string {
	for i, seconds := range paperGPU() {
		if units.Thousands((i+1)*paperStep) == signatures {
			return units.Three(seconds)
		}
	}
	return ""
}

// gpuGrid has a row for each size and a column for each kernel.
func gpuGrid(all []cuda.Measurement, kernels []string, words int, cell func(*cuda.Measurement) string) (g report.Grid) {
	for _, rows := range sizesOf(all) {
		row := []any{units.Thousands(rows)}
		for _, kernel := range kernels {
			i := slices.IndexFunc(all, func(m cuda.Measurement) bool {
				return m.Kernel == kernel && m.Words == words && m.Rows == rows && m.Skipped == ""
			})
			if i < 0 {
				row = append(row, "-")
				continue
			}
			row = append(row, cell(&all[i]))
		}
		g.Add(row...)
	}
	return g
}

func sizesOf(all []cuda.Measurement) (sizes []int) {
	for _, m := range all {
		if !slices.Contains(sizes, m.Rows) {
			sizes = append(sizes, m.Rows)
		}
	}
	return sizes
}

package tables

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"refrain/hashcodes/hamming"
	"refrain/internal/units"
	"refrain/lab/cpu"
	"refrain/lab/report"
)

// KernelFigure is the speed of one kernel.
type KernelFigure struct {
	Kernel    string  `json:"kernel"`
	Bits      int     `json:"bits"`
	Radius    int     `json:"radius"`
	PerSecond float64 `json:"perSecond"` // comparisons, one thread
	AgainstGo float64 `json:"againstGo"` // plain Go in the same run
	Bound     float64 `json:"bound"`     // share of one VPOPCNTD of 16 words a cycle
	Hits      int     `json:"hits"`      // of all queries
}

// kernelQueries go through a table at once.
const kernelQueries = 64

// Kernels measures the Hamming kernels of this machine on random signatures.
func Kernels(ctx context.Context, c *Config) (*report.Report, error) {
	rows := size(c, 1<<20, 1<<16)
	r := c.report("kernels", "Hamming kernels: one thread, 64 queries a pass, 10⁹ comparisons a second.",
		fmt.Sprintf("%s uniform random signatures, random queries; hits are written out", units.Thousands(rows)))
	hz := clockRate(c.Runs)
	var all []KernelFigure
	for _, bits := range []int{32, 64, 128, 256} {
		for _, radius := range []int{3, 6} {
			c.status("kernels: %d bits, radius %d", bits, radius)
			figures, err := c.kernels(ctx, bits, radius, rows, hz)
			if err != nil {
				return nil, err
			}
			all = append(all, figures...)
		}
		c.step("kernels: %d bits", bits)
	}
	r.Figures = all
	r.Grids = []report.Grid{kernelGrid(all)}
	r.Note("%s, the kernels in turns, by processor time", c.medians())
	r.Note("bound: one VPOPCNTD, 16 words of 32 bits, a cycle; the clock was %.2f GHz, by additions that wait "+
		"for each other", hz/1e9)
	r.Note("a kernel that goes no further than the first words of wide signatures may be above the bound, as may " +
		"one on a machine with two such units")
	return r, nil
}

func kernelGrid(all []KernelFigure) report.Grid {
	g := report.Grid{Head: []string{"bits", "radius", "kernel", "G/s", "against plain Go", "of the bound"}}
	for _, f := range all {
		g.Add(f.Bits, f.Radius, f.Kernel, units.Three(f.PerSecond/1e9), units.Times(f.AgainstGo),
			fmt.Sprintf("%.0f %%", 100*f.Bound))
	}
	return g
}

// kernels measures all kernels on one table, in turns.
func (c *Config) kernels(ctx context.Context, bits, radius, rows int, hz float64) ([]KernelFigure, error) {
	random := rand.New(rand.NewPCG(uint64(bits), uint64(radius)))
	planes := make([][]uint32, bits/32)
	for w := range planes {
		planes[w] = randomWords(random, rows)
	}
	block := make([]hamming.Query, kernelQueries)
	for i := range block {
		block[i] = hamming.Query{Signature: randomWords(random, len(planes)), Radius: radius}
	}
	kernels := hamming.Kernels()
	speeds, figures := make([][]float64, len(kernels)), make([]KernelFigure, len(kernels))
	for range c.Runs {
		for k := range kernels {
			if err := interrupted(ctx); err != nil {
				return nil, err
			}
			speeds[k] = append(speeds[k], scanRate(&kernels[k], planes, block, size(c, 150*time.Millisecond, time.Millisecond)))
			figures[k] = KernelFigure{Kernel: kernels[k].Name, Bits: bits, Radius: radius, Hits: hitsOf(block)}
		}
	}
	for k := range figures {
		f := &figures[k]
		f.PerSecond = median(speeds[k])
		f.AgainstGo = f.PerSecond / figures[0].PerSecond
		f.Bound = f.PerSecond * float64(len(planes)) / (16 * hz)
		if f.Hits != figures[0].Hits {
			return nil, fmt.Errorf("kernel %s finds %d hits, plain Go %d (%d bits, radius %d)", f.Kernel, f.Hits,
				figures[0].Hits, bits, radius)
		}
	}
	return figures, nil
}

func randomWords(random *rand.Rand, n int) []uint32 {
	words := make([]uint32, n)
	for i := range words {
		words[i] = random.Uint32()
	}
	return words
}

func hitsOf(block []hamming.Query) (n int) {
	for i := range block {
		n += len(block[i].Hits)
	}
	return n
}

// scanRate is comparisons a second of a kernel, over at least so long, after a pass to warm up.
func scanRate(k *hamming.Kernel, planes [][]uint32, block []hamming.Query, minTime time.Duration) float64 {
	pass := func() {
		for i := range block {
			block[i].Hits = block[i].Hits[:0]
		}
		k.ScanBlock(planes, block)
	}
	pass()
	begin, passes := cpu.Time(), 0
	for passes == 0 || cpu.Time()-begin < minTime {
		pass()
		passes++
	}
	return float64(passes*len(block)*len(planes[0])) / (cpu.Time() - begin).Seconds()
}

// clockRate is cycles a second: the best of some runs, since whatever disturbs only makes it less.
func clockRate(runs int) float64 {
	const loops = 2_000_000
	var rates []float64
	x := uint64(runs)
	for range max(runs, 3) {
		begin := cpu.Time()
		x = ticks(x, rand.Uint64(), rand.Uint64(), loops)
		rates = append(rates, 8*loops/(cpu.Time()-begin).Seconds())
	}
	if x == 0 { // so that the loop is not left out
		rates = rates[:1]
	}
	return slices.Max(rates)
}

// ticks takes eight cycles a loop, since every step waits for the one before.
func ticks(x, y, z uint64, loops int) uint64 {
	for range loops {
		x += y
		x ^= z
		x += y
		x ^= z
		x += y
		x ^= z
		x += y
		x ^= z
	}
	return x
}

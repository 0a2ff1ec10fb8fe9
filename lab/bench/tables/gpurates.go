package tables

import (
	"context"
	"fmt"
	"math"

	"refrain/cuda/rates"
	"refrain/internal/units"
	"refrain/lab/report"
)

// kernelLoop is the loop of a kernel of package cuda where nothing is hit, as the assembler makes it for sm_90: how many
// comparisons a warp has done after it, and with which instructions (docs/design/0006-cuda.md; cuda/generate -sass).
type kernelLoop struct {
	function string
	words    int // of the signatures that it is meant for
	pairs    int
	slots    int // instructions
	issues   map[string]int
}

// issueSlots stands for all instructions together: a multiprocessor has four schedulers, which issue one a clock each.
const (
	issueSlots = "slots"
	schedulers = 4
)

func kernelLoops() []kernelLoop {
	type n = map[string]int
	return []kernelLoop{
		{"popcount1", 1, 256, 31, n{rates.POPC: 8, rates.LOP3: 8, rates.Min: 4}},
		{"popcount2", 2, 256, 59, n{rates.POPC: 16, rates.LOP3: 16, rates.Min: 5}},
		{"popcount4", 4, 256, 101, n{rates.POPC: 32, rates.LOP3: 32, rates.Min: 5}},
		{"popcount8", 8, 128, 102, n{rates.POPC: 32, rates.LOP3: 32, rates.Min: 4}},
		{"imma1", 1, 2048, 40, n{rates.IMMA: 8, rates.LOP3: 17}},
		{"imma2", 2, 2048, 49, n{rates.IMMA: 16, rates.LOP3: 17}},
		{"imma4", 4, 512, 44, n{rates.IMMA: 16, rates.LOP3: 9}},
		{"imma8", 8, 256, 52, n{rates.IMMA: 16}},
		{"bmma2", 2, 1024, 47, n{rates.BMMA128: 8, rates.LOP3: 19}},
		{"bmma4", 4, 1024, 42, n{rates.BMMA256: 8, rates.LOP3: 18}},
		{"bmma8", 8, 512, 36, n{rates.BMMA256: 8, rates.LOP3: 11}},
	}
}

// bound is how many comparisons a second the rates allow, and which of them does not allow more. Without one of the rates
// there is none.
func (l *kernelLoop) bound(card *rates.Card, all []rates.Rate) (perSecond float64, limit string) {
	perSecond = math.Inf(1)
	consider := func(name string, issued float64, times int) {
		if b := float64(l.pairs) * issued / float64(times); b < perSecond {
			perSecond, limit = b, name
		}
	}
	hertz := 0.0
	for _, r := range all {
		times := l.issues[r.Name]
		if times > 0 && r.Refused != "" {
			return 0, ""
		}
		if times > 0 {
			consider(r.Name, r.Second, times)
		}
		hertz = max(hertz, r.Hertz)
	}
	consider(issueSlots, schedulers*hertz*float64(card.Processors), l.slots)
	return perSecond, limit
}

// RatesOptions are what GPURates asks besides.
type RatesOptions struct{ Device int }

// RatesFigures is all that GPURates measures.
type RatesFigures struct {
	Card   *rates.Card   `json:"card"`
	Rates  []rates.Rate  `json:"rates"`
	Bounds []BoundFigure `json:"bounds"`
}

// BoundFigure is what the rates allow a kernel.
type BoundFigure struct {
	Function  string  `json:"function"`
	Words     int     `json:"words"`
	PerSecond float64 `json:"perSecond"` // comparisons; 0: the device lacks an instruction
	Limit     string  `json:"limit"`
}

// GPURates measures how fast the device issues the instructions of our kernels, and what follows for each.
func GPURates(ctx context.Context, c *Config, o RatesOptions) (*report.Report, error) {
	cfg := rates.Default()
	cfg.Device, cfg.Runs = o.Device, c.Runs
	card, all, err := rates.Measure(cfg)
	if err != nil {
		return nil, err
	}
	r := c.report("gpu-rates", fmt.Sprintf("Issue rates of %s, %d multiprocessors, compute capability %d.%d, CUDA %d.%d, and "+
		"the bounds of our kernels that follow.", card.Name, card.Processors, card.Capability/10, card.Capability%10,
		card.CUDA/1000, card.CUDA%1000/10),
		fmt.Sprintf("none: kernels that do nothing else, from registers, on all multiprocessors, for some %v", cfg.Lasting))
	figures := &RatesFigures{Card: card, Rates: all}
	r.Grids = append(r.Grids, rateGrid(all), boundGrid(figures))
	r.Figures = figures
	r.Note("the fastest of %d runs of each instruction; clock: as the multiprocessors counted it meanwhile", c.Runs)
	r.Note("bound: where the loop of the kernel issues nothing but what it must (slots: all its instructions, %d a clock); "+
		"nothing is hit, and memory takes no time", schedulers)
	noteCard(ctx, r, o.Device)
	return r, nil
}

func rateGrid(all []rates.Rate) report.Grid {
	g := report.Grid{Head: []string{"instruction", "of a warp, a clock and multiprocessor", "lanes a clock",
		"10⁹ of a warp a second", "clock, GHz"}}
	for _, r := range all {
		if r.Refused != "" {
			g.Add(r.Name, "-", "-", "-", "-")
			continue
		}
		g.Add(r.Name, units.Three(r.Clock), units.Three(32*r.Clock), units.Three(r.Second/1e9), units.Three(r.Hertz/1e9))
	}
	return g
}

func boundGrid(f *RatesFigures) report.Grid {
	g := report.Grid{Caption: "**Bounds**", Head: []string{"function", "bits", "bound, 10¹² comparisons/s", "because of"}}
	for _, l := range kernelLoops() {
		perSecond, limit := l.bound(f.Card, f.Rates)
		f.Bounds = append(f.Bounds, BoundFigure{Function: l.function, Words: l.words, PerSecond: perSecond, Limit: limit})
		if limit == "" {
			g.Add(l.function, 32*l.words, "-", "the device lacks an instruction")
			continue
		}
		g.Add(l.function, 32*l.words, units.Three(perSecond/1e12), limit)
	}
	return g
}

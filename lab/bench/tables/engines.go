package tables

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/internal/units"
	"refrain/lab/cpu"
	"refrain/lab/report"
	"refrain/text"
)

// EngineFigure is one cell of the grid.
type EngineFigure struct {
	Window    int                `json:"window"`
	Threshold string             `json:"threshold"`
	Batch     int                `json:"batch"`
	Lookup    map[string]float64 `json:"lookup"` // µs by engine
	Best      string             `json:"best"`   // of all but auto
	Ratio     float64            `json:"ratio"`  // auto to the best
	Matches   int64              `json:"matches"`
}

// automatic is the engine whose choice is judged.
const automatic = "auto"

// EngineGrid measures look-ups in windows of several sizes, at several thresholds, alone and in batches.
func EngineGrid(ctx context.Context, c *Config) (*report.Report, error) {
	windows := size(c, []int{1000, 10_000, 100_000, 1_000_000}, []int{500, 4000})
	list, err := thresholds(size(c, []string{"0.5", "0.6", "0.7", "0.8", "0.9"}, []string{"0.6", "0.8"}))
	if err != nil {
		return nil, err
	}
	lookups := size(c, 20_000, 1000)
	sentences, err := c.corpus(ctx, slices.Max(windows)+lookups)
	if err != nil {
		return nil, err
	}
	if sentences.len() <= lookups {
		return nil, fmt.Errorf("there are %d distinct sentences only: want more than %d", sentences.len(), lookups)
	}
	r := c.report("engines", "Look-ups by engine: µs of processor time each, in windows of so many distinct sentences.",
		sentences.String())
	var all []EngineFigure
	for _, window := range windows {
		window = min(window, sentences.len()-lookups)
		for _, t := range list {
			g := grid{config: c, sentences: sentences, window: window, lookups: lookups, threshold: t}
			figures, err := g.measure(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, figures...)
		}
	}
	r.Figures = all
	r.Grids = []report.Grid{c.engineGrid(all)}
	worst := slices.MaxFunc(all, func(a, b EngineFigure) int { return int(1000 * (a.Ratio - b.Ratio)) })
	if worst.Ratio > 0 {
		r.Note("auto is at most %s of the best: window %s, θ %s, batches of %d", units.Times(worst.Ratio),
			units.Thousands(worst.Window), worst.Threshold, worst.Batch)
	}
	r.Note("look-ups only, of sentences that the window does not hold, verification included, after a round to "+
		"warm up; medians of %d rounds of up to %s look-ups, the engines in turns", c.rounds(), units.Thousands(lookups))
	r.Note("all engines found the same number of matches")
	return r, nil
}

// rounds of a cell: more than of what takes minutes.
func (c *Config) rounds() int { return c.Runs + 2 }

func (c *Config) engineGrid(all []EngineFigure) report.Grid {
	g := report.Grid{Head: []string{"window", "θ", "batch"}}
	for _, e := range c.Engines {
		g.Head = append(g.Head, e.Name)
	}
	g.Head = append(g.Head, "best", "auto to the best")
	for _, f := range all {
		row := []any{units.Thousands(f.Window), f.Threshold, f.Batch}
		for _, e := range c.Engines {
			row = append(row, units.Three(f.Lookup[e.Name]))
		}
		g.Add(append(row, f.Best, units.Times(f.Ratio))...)
	}
	return g
}

// grid is one window and threshold: the engines side by side.
type grid struct {
	config          *Config
	sentences       *corpus
	window, lookups int
	threshold       text.Threshold
	queries         []feed.Sentence
}

func (g *grid) measure(ctx context.Context) (figures []EngineFigure, err error) {
	c := g.config
	debug.FreeOSMemory()
	detectors := make([]*detector.Partition, len(c.Engines))
	for i, e := range c.Engines {
		c.status("engines: filling %s with %s sentences, θ %v", e.Name, units.Thousands(g.window), g.threshold)
		if detectors[i], err = g.fill(ctx, e.Make); err != nil {
			return nil, err
		}
	}
	// Those behind the largest window are in none.
	g.queries = g.sentences.sentences(nil, g.sentences.len()-g.lookups, g.sentences.len())
	for _, batch := range []int{1, 64} {
		f := EngineFigure{Window: g.window, Threshold: decimal(g.threshold), Batch: batch, Lookup: map[string]float64{}}
		if err := g.rounds(ctx, detectors, &f); err != nil {
			return nil, err
		}
		f.judge(c.Engines)
		c.step("engines: window %s, θ %s, batch %d: %v", units.Thousands(f.Window), f.Threshold, batch, f.Lookup)
		figures = append(figures, f)
	}
	return figures, nil
}

// rounds lets all engines look up the same sentences, in turns.
func (g *grid) rounds(ctx context.Context, detectors []*detector.Partition, f *EngineFigure) error {
	c := g.config
	times := make([][]float64, len(detectors))
	n := g.lookups
	for _, d := range detectors { // so many that it takes a fraction of a second
		begin := cpu.Time()
		lookupAll(d, g.queries[:min(512, n)], f.Batch)
		n = min(n, max(512, int(512*c.roundTime()/(cpu.Time()-begin+1))))
	}
	for round := range c.rounds() + 1 {
		matches := int64(-1)
		for i, d := range detectors {
			if err := interrupted(ctx); err != nil {
				return err
			}
			c.status("engines: window %s, θ %v, batch %d, %s, round %d", units.Thousands(g.window), g.threshold, f.Batch,
				c.Engines[i].Name, round)
			begin := cpu.Time()
			found := lookupAll(d, g.queries[:min(n, len(g.queries))], f.Batch)
			took := cpu.Time() - begin
			if round > 0 {
				times[i] = append(times[i], float64(took)/1e3/float64(n))
			}
			if matches >= 0 && found != matches {
				return fmt.Errorf("window %d, θ %v: %s finds %d matches, %s %d", g.window, g.threshold, c.Engines[i].Name, found,
					c.Engines[0].Name, matches)
			}
			matches = found
		}
		f.Matches = matches
	}
	for i, e := range c.Engines {
		f.Lookup[e.Name] = median(times[i])
	}
	return nil
}

// roundTime is how long one engine looks up in a round, about.
func (c *Config) roundTime() time.Duration { return size(c, 300*time.Millisecond, 5*time.Millisecond) }

// fill makes a window of the first sentences.
func (g *grid) fill(ctx context.Context, e detector.Engine) (*detector.Partition, error) {
	m, err := model()
	if err != nil {
		return nil, err
	}
	d, err := detector.NewPartition(detector.Config{Threshold: g.threshold, Span: long, Lateness: time.Minute, Model: m, Engine: e,
		OmitTexts: true})
	if err != nil {
		return nil, err
	}
	var batch []feed.Sentence
	for from := 0; from < g.window; from += matchBatch {
		batch = g.sentences.sentences(batch[:0], from, min(from+matchBatch, g.window))
		for i := range batch {
			d.Insert(&batch[i])
		}
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// lookupAll looks sentences up, so many at once, and counts the matches.
func lookupAll(d *detector.Partition, queries []feed.Sentence, batch int) (n int64) {
	var matches []feed.Match
	expected := make([]*feed.Sentence, 0, batch)
	for some := range slices.Chunk(queries, batch) {
		expected = expected[:0]
		for i := range some {
			expected = append(expected, &some[i])
		}
		d.Expect(expected)
		for _, x := range expected {
			matches = d.LookupNew(matches[:0], x)
			n += int64(len(matches))
		}
	}
	return n
}

// judge finds the best engine, and how far auto is from it.
func (f *EngineFigure) judge(engines []Engine) {
	for _, e := range engines {
		if e.Name != automatic && (f.Best == "" || f.Lookup[e.Name] < f.Lookup[f.Best]) {
			f.Best = e.Name
		}
	}
	if t, ok := f.Lookup[automatic]; ok && f.Best != "" {
		f.Ratio = t / f.Lookup[f.Best]
	}
}

package tables

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"refrain/bench/cpu"
	"refrain/bench/peers/ppjoin"
	"refrain/detector"
	"refrain/feed"
	"refrain/internal/memory"
	"refrain/text"
)

// MatchOptions are what Match asks besides.
type MatchOptions struct {
	Sentences  int      // distinct; 0: 1,000,000
	Thresholds []string // nil: 0.8, 0.6
	Engines    []string // nil: prefix, scan
	SVG        string   // file to plot to; "": none
}

func (o MatchOptions) orDefault(c *Config) MatchOptions {
	if o.Sentences == 0 {
		o.Sentences = size(c, 1_000_000, 20_000)
	}
	if len(o.Thresholds) == 0 {
		o.Thresholds = []string{"0.8", "0.6"}
	}
	if len(o.Engines) == 0 {
		o.Engines = []string{"prefix", "scan"}
	}
	return o
}

// MatchFigure is one engine at one threshold, while its window grew from nothing.
type MatchFigure struct {
	Engine     string  `json:"engine"`
	Threshold  string  `json:"threshold"`
	Sentences  int     `json:"sentences"`
	CPU        float64 `json:"cpu"`  // µs a sentence, over all
	Wall       float64 `json:"wall"` // the same by the clock
	Candidates int64   `json:"candidates"`
	Matches    int64   `json:"matches"`
	Bytes      int64   `json:"bytes,omitempty"` // of the window
	Growth     []Point `json:"growth"`          // by batch
	Parts      *Parts  `json:"parts,omitempty"`
}

// Point is a batch of sentences: µs a sentence, medians of the runs.
type Point struct {
	Sentences int     `json:"sentences"` // with this batch
	CPU       float64 `json:"cpu"`
	Wall      float64 `json:"wall"`
}

// matchBatch is the number of sentences that are timed at once.
const matchBatch = 1000

// long is a span that lets nothing go.
const long = 87600 * time.Hour

// Match measures exact streaming match in a window that grows from nothing.
func Match(ctx context.Context, c *Config, o MatchOptions) (*Report, error) {
	o = o.orDefault(c)
	list, err := thresholds(o.Thresholds)
	if err != nil {
		return nil, err
	}
	sentences, err := c.corpus(ctx, o.Sentences)
	if err != nil {
		return nil, err
	}
	c.step("match: %s", sentences)
	r := c.report("match", fmt.Sprintf("Exact streaming match, one thread, while the window grows from 0 to %s distinct sentences.",
		thousands(sentences.len())), sentences.String())
	var all []MatchFigure
	for _, t := range list {
		figures, err := c.matchAll(ctx, sentences, t, o.Engines)
		if err != nil {
			return nil, err
		}
		all = append(all, figures...)
		r.Grids = append(r.Grids, matchGrid(figures, t), growthGrid(figures))
	}
	r.Figures = all
	c.matchNotes(r, all)
	if o.SVG == "" {
		return r, nil
	}
	r.Plot = filepath.Base(o.SVG)
	return r, writeFile(o.SVG, crossingPlot(all, r.Command))
}

// contest is one way to match, in its runs.
type contest struct {
	figure MatchFigure
	runs   [][]Point
	run    func(ctx context.Context, f *MatchFigure, points []Point) ([]Point, error)
}

// matchAll runs all engines in turns. The plain PPJoin is the last: what the others are compared with.
func (c *Config) matchAll(ctx context.Context, s *corpus, t text.Threshold, engines []string) ([]MatchFigure, error) {
	var all []contest
	for _, name := range engines {
		e, err := c.engine(name)
		if err != nil {
			return nil, err
		}
		all = append(all, contest{run: func(ctx context.Context, f *MatchFigure, p []Point) ([]Point, error) {
			return matchEngine(ctx, s, t, e, f, p)
		}, figure: MatchFigure{Engine: name}})
	}
	all = append(all, contest{run: func(ctx context.Context, f *MatchFigure, p []Point) ([]Point, error) {
		return matchPPJoin(ctx, s, t, f, p)
	}, figure: MatchFigure{Engine: yardstick}})
	for run := range c.Runs {
		for i := range all {
			k := &all[i]
			c.status("match: θ %s, %s, run %d of %d", decimal(t), k.figure.Engine, run+1, c.Runs)
			points, err := k.run(ctx, &k.figure, nil)
			if err != nil {
				return nil, err
			}
			k.runs = append(k.runs, points)
		}
	}
	figures := make([]MatchFigure, len(all))
	for i := range all {
		figures[i] = all[i].finish(s.len(), t)
		f := &figures[i]
		c.step("match: θ %s, %s: %.2f µs a sentence (CPU)", decimal(t), f.Engine, f.CPU)
	}
	return figures, c.agree(ctx, s, t, figures)
}

// yardstick is the name of the plain PPJoin.
const yardstick = "PPJoin"

// agree wants all to have found as many matches, and adds where the time of the prefix engine goes.
func (c *Config) agree(ctx context.Context, s *corpus, t text.Threshold, figures []MatchFigure) error {
	for i := range figures {
		f, last := &figures[i], &figures[len(figures)-1]
		if f.Matches != last.Matches {
			return fmt.Errorf("θ %v: %s finds %d matches, %s %d", t, f.Engine, f.Matches, last.Engine, last.Matches)
		}
		if f.Engine != "prefix" {
			continue
		}
		parts, err := c.parts(ctx, s, t)
		if err != nil {
			return err
		}
		if parts.Matches != last.Matches {
			return fmt.Errorf("θ %v: the index alone finds %d matches, %s %d", t, parts.Matches, last.Engine, last.Matches)
		}
		f.Parts = parts
	}
	return nil
}

// finish makes medians of the runs.
func (k *contest) finish(sentences int, t text.Threshold) MatchFigure {
	f := k.figure
	f.Threshold, f.Sentences = decimal(t), sentences
	var cpus, walls []float64
	for _, run := range k.runs {
		cpus, walls = append(cpus, mean(run, Point.cpu)), append(walls, mean(run, Point.wall))
	}
	f.CPU, f.Wall = median(cpus), median(walls)
	for i := range k.runs[0] {
		p := k.runs[0][i]
		cpus, walls = cpus[:0], walls[:0]
		for _, run := range k.runs {
			cpus, walls = append(cpus, run[i].CPU), append(walls, run[i].Wall)
		}
		p.CPU, p.Wall = median(cpus), median(walls)
		f.Growth = append(f.Growth, p)
	}
	return f
}

func (p Point) cpu() float64  { return p.CPU }
func (p Point) wall() float64 { return p.Wall }

// mean of a figure over the sentences of all points.
func mean(points []Point, value func(Point) float64) float64 {
	return meanBetween(points, 0, len(points), value)
}

// meanBetween is the mean over the points from one to another, that one not among them.
func meanBetween(points []Point, from, to int, value func(Point) float64) float64 {
	sum, n := 0.0, 0
	for i := from; i < to; i++ {
		rows := points[i].Sentences
		if i > 0 {
			rows -= points[i-1].Sentences
		}
		sum += value(points[i]) * float64(rows)
		n += rows
	}
	return sum / float64(max(1, n))
}

// stopwatch times batches.
type stopwatch struct {
	points []Point
	done   int
	cpu    time.Duration
	wall   time.Time
}

func (w *stopwatch) start() { w.cpu, w.wall = cpu.Time(), time.Now() }

func (w *stopwatch) stop(sentences int) {
	took, wall := cpu.Time()-w.cpu, time.Since(w.wall)
	w.done += sentences
	per := func(d time.Duration) float64 { return float64(d) / 1e3 / float64(sentences) }
	w.points = append(w.points, Point{w.done, per(took), per(wall)})
}

// matchEngine runs a detector over all sentences.
func matchEngine(ctx context.Context, s *corpus, t text.Threshold, e detector.Engine, f *MatchFigure, points []Point) ([]Point, error) {
	m, err := model()
	if err != nil {
		return nil, err
	}
	d, err := detector.NewPartitions(detector.Config{Threshold: t, Span: long, Lateness: time.Minute, Model: m, Engine: e}, 1, 1)
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory()
	var batch []feed.Sentence
	var matches []feed.Match
	var release memory.Keeper
	w := stopwatch{points: points}
	f.Matches = 0
	for from := 0; from < s.len(); from += matchBatch {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		batch = s.sentences(batch[:0], from, min(from+matchBatch, s.len()))
		w.start()
		matches, _ = d.Detect(matches[:0], batch)
		w.stop(len(batch))
		f.Matches += int64(len(matches))
		if from%(16*matchBatch) == 0 {
			release.Holds(d.Detectors()[0].Stats().Bytes)
		}
	}
	f.Candidates, f.Bytes = d.Detectors()[0].Counts().Candidates, d.Detectors()[0].Stats().Bytes
	return w.points, nil
}

// matchPPJoin runs the plain PPJoin, which is given the order of the tokens up front.
func matchPPJoin(ctx context.Context, s *corpus, t text.Threshold, f *MatchFigure, points []Point) ([]Point, error) {
	j := ppjoin.New(t, s.order())
	debug.FreeOSMemory()
	var hits []uint32
	w := stopwatch{points: points}
	f.Matches = 0
	for from := 0; from < s.len(); from += matchBatch {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		to := min(from+matchBatch, s.len())
		w.start()
		for i := from; i < to; i++ {
			hits = j.Next(hits[:0], s.set(i))
			f.Matches += int64(len(hits))
		}
		w.stop(to - from)
	}
	f.Candidates = int64(j.Candidates())
	return w.points, nil
}

// order is all token ids, the rarest first.
func (c *corpus) order() []uint64 {
	frequency := map[uint64]int{}
	for _, id := range c.tokens {
		frequency[id]++
	}
	order := make([]uint64, 0, len(frequency))
	for id := range frequency {
		order = append(order, id)
	}
	slices.SortFunc(order, func(a, b uint64) int {
		if frequency[a] != frequency[b] {
			return frequency[a] - frequency[b]
		}
		if a < b {
			return -1
		}
		return 1
	})
	return order
}

func matchGrid(figures []MatchFigure, t text.Threshold) Grid {
	g := Grid{Caption: fmt.Sprintf("**θ %s**", decimal(t)),
		Head: []string{"engine", "µs a sentence, CPU", "by the clock", "against PPJoin", "candidates a sentence", "matches", "window, bytes a sentence"}}
	last := figures[len(figures)-1]
	for _, f := range figures {
		bytes := "-"
		if f.Bytes > 0 {
			bytes = fmt.Sprint(f.Bytes / int64(max(1, f.Sentences)))
		}
		g.add(f.Engine, three(f.CPU), three(f.Wall), times(last.CPU/f.CPU), three(float64(f.Candidates)/float64(f.Sentences)),
			thousands(int(f.Matches)), bytes)
	}
	return g
}

// growthGrid is ten steps of the window.
func growthGrid(figures []MatchFigure) Grid {
	g := Grid{Caption: "µs a sentence, CPU / by the clock, of the sentences up to so many in the window since the line before:", Head: []string{"window"}}
	for _, f := range figures {
		g.Head = append(g.Head, f.Engine)
	}
	batches := len(figures[0].Growth)
	for step := range 10 {
		from, to := step*batches/10, (step+1)*batches/10
		if from == to {
			continue
		}
		row := []any{thousands(figures[0].Growth[to-1].Sentences)}
		for _, f := range figures {
			row = append(row, three(meanBetween(f.Growth, from, to, Point.cpu))+" / "+three(meanBetween(f.Growth, from, to, Point.wall)))
		}
		g.add(row...)
	}
	return g
}

func (c *Config) matchNotes(r *Report, all []MatchFigure) {
	r.note("%s, the engines in turns; token ids in, batches of %s, span %.0f h; collection of garbage included", c.medians(), thousands(matchBatch), long.Hours())
	r.note("an engine's figure is the whole detector: dictionary, look-up, verification, insertion with text and post id, match; PPJoin keeps token numbers only and is given the order of the tokens up front")
	r.note("all found the same number of matches")
	for _, f := range all {
		if p := f.Parts; p != nil {
			r.note("prefix, θ %s: search %s, verification %s, add %s µs a sentence: the index alone %s of %s (one run, driven without a window)",
				f.Threshold, three(p.Search), three(p.Verify), three(p.Add), three(p.Search+p.Verify+p.Add), three(f.CPU))
		}
	}
	for _, x := range crossings(all) {
		r.note("θ %s: %s", x.threshold, x.String())
	}
}

package tables

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/internal/memory"
	"refrain/internal/units"
	"refrain/lab/bench/peers/ppjoin"
	"refrain/lab/cpu"
	"refrain/lab/report"
	"refrain/text"
)

// MatchOptions are what Match asks besides.
type MatchOptions struct {
	Sentences  int // distinct
	Thresholds []string
	Engines    []string
	SVG        string // file to plot to; "": none
}

// DefaultMatch is the table's.
func DefaultMatch() MatchOptions {
	return MatchOptions{Sentences: 1_000_000, Thresholds: []string{"0.8", "0.6", "0.5"}, Engines: []string{"prefix", "scan"}}
}

// QuickMatch is a quick run's.
func QuickMatch() MatchOptions {
	o := DefaultMatch()
	o.Sentences = 20_000
	return o
}

func (o *MatchOptions) validate() error {
	return errors.Join(wantPositive("sentences", o.Sentences), wantSome("thresholds", o.Thresholds),
		wantSome("engines", o.Engines))
}

// MatchFigure is one engine at one threshold, while its window grew from nothing.
type MatchFigure struct {
	Engine     string  `json:"engine"`
	Threshold  string  `json:"threshold"`
	Sentences  int     `json:"sentences"`
	CPU        float64 `json:"cpu"`    // µs a sentence, over all
	Wall       float64 `json:"wall"`   // the same by the clock
	Looked     int     `json:"looked"` // sentences that were looked up: all, or a sample
	Candidates int64   `json:"candidates"`
	Matches    int64   `json:"matches"`         // of those looked up
	Bytes      int64   `json:"bytes,omitempty"` // of the window
	Growth     []Point `json:"growth"`          // by batch
	Parts      *Parts  `json:"parts,omitempty"`
}

// Point is a batch of sentences: µs a sentence, medians of the runs.
type Point struct {
	Sentences int     `json:"sentences"` // in the window, with this batch
	Matches   int64   `json:"matches"`   // in this batch
	CPU       float64 `json:"cpu"`
	Wall      float64 `json:"wall"`
}

// matchBatch is the number of sentences that are timed at once, beyond the first so many.
const matchBatch = 1000

// nextBatch is where the batch ends that begins at a sentence. The first are smaller: in a small window much changes.
func nextBatch(from, all int) int {
	if from < matchBatch {
		return min(from+matchBatch/10, all)
	}
	return min(from+matchBatch, all)
}

// sample says of which batches the sentences are looked up, by an engine whose look-ups in a large window take minutes:
// the first, and one whenever the window has grown by a tenth, or by a fiftieth of all. Without all it takes every one.
type sample struct{ all, last int }

func (s *sample) includes(from, to int) bool {
	if from > 0 && to-s.last < min(to/10, s.all/50) {
		return false
	}
	s.last = to
	return true
}

// minEngineTime is how long the runs of an engine take when there are no more of them.
const minEngineTime = 20 * time.Second

// long is a span that lets nothing go.
const long = 87600 * time.Hour

// Match measures exact streaming match in a window that grows from nothing.
func Match(ctx context.Context, c *Config, o MatchOptions) (*report.Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	list, err := thresholds(o.Thresholds)
	if err != nil {
		return nil, err
	}
	sentences, err := c.corpus(ctx, o.Sentences)
	if err != nil {
		return nil, err
	}
	c.step("match: %s", sentences)
	r := c.report("match", fmt.Sprintf("Exact streaming match, one thread, while the window grows from 0 to %s "+
		"distinct sentences.",
		units.Thousands(sentences.len())), sentences.String())
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
	if g := crossingGrid(crossings(all)); len(g.Rows) > 0 {
		r.Grids = append(r.Grids, g)
	}
	c.matchNotes(r, all)
	if o.SVG == "" {
		return r, nil
	}
	r.Plot = filepath.Base(o.SVG)
	return r, report.WriteFile(o.SVG, crossingPlot(all, r.Command))
}

// contest is one way to match, in its runs.
type contest struct {
	figure  MatchFigure
	runs    [][]Point
	elapsed time.Duration // by all runs
	run     func(ctx context.Context, f *MatchFigure) ([]Point, error)
}

// matchAll runs all engines in turns. The plain PPJoin is the last: what the others are compared with, where it takes less
// than many minutes.
func (c *Config) matchAll(ctx context.Context, s *corpus, t text.Threshold, engines []string) ([]MatchFigure, error) {
	var all []contest
	for _, name := range engines {
		e, err := c.engine(name)
		if err != nil {
			return nil, err
		}
		all = append(all, contest{run: func(ctx context.Context, f *MatchFigure) ([]Point, error) {
			return matchEngine(ctx, s, t, e, f)
		}, figure: MatchFigure{Engine: name}})
	}
	if t.Float() >= minPlainThreshold {
		all = append(all, contest{run: func(ctx context.Context, f *MatchFigure) ([]Point, error) {
			return matchPPJoin(ctx, s, t, f)
		}, figure: MatchFigure{Engine: yardstick}})
	}
	for run := range c.Runs {
		for i := range all {
			k := &all[i]
			if k.elapsed > minEngineTime {
				continue
			}
			c.status("match: θ %s, %s, run %d of %d", decimal(t), k.figure.Engine, run+1, c.Runs)
			begin := time.Now()
			points, err := k.run(ctx, &k.figure)
			if err != nil {
				return nil, err
			}
			k.elapsed += time.Since(begin)
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

// yardstick is the name of the plain PPJoin, which is not run below a threshold.
const (
	yardstick         = "PPJoin"
	minPlainThreshold = 0.6
)

// agree wants all to have found as many matches in the batches that they looked up, and adds where the time of the prefix
// engine goes.
func (c *Config) agree(ctx context.Context, s *corpus, t text.Threshold, figures []MatchFigure) error {
	for i := range figures {
		f := &figures[i]
		if err := sameMatches(t, f, &figures[len(figures)-1]); err != nil {
			return err
		}
		if f.Engine != "prefix" {
			continue
		}
		parts, err := c.parts(ctx, s, t)
		if err != nil {
			return err
		}
		if parts.Matches != f.Matches {
			return fmt.Errorf("θ %v: the index alone finds %d matches, %s %d", t, parts.Matches, f.Engine, f.Matches)
		}
		f.Parts = parts
	}
	return nil
}

// sameMatches compares batches that both have looked up.
func sameMatches(t text.Threshold, a, b *MatchFigure) error {
	matches := map[int]int64{}
	for _, p := range a.Growth {
		matches[p.Sentences] = p.Matches
	}
	for _, p := range b.Growth {
		if n, ok := matches[p.Sentences]; ok && n != p.Matches {
			return fmt.Errorf("θ %v, up to %d sentences: %s finds %d matches, %s %d", t, p.Sentences, a.Engine, n,
				b.Engine, p.Matches)
		}
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

// meanBetween is the mean over the points from one to another, that one not among them. A point stands for all sentences
// since the one before.
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
	cpu    time.Duration
	wall   time.Time
}

func (w *stopwatch) start() { w.cpu, w.wall = cpu.Time(), time.Now() }

// stop ends a batch that began and ended at a sentence.
func (w *stopwatch) stop(from, to int, matches int64) {
	took, wall := cpu.Time()-w.cpu, time.Since(w.wall)
	per := func(d time.Duration) float64 { return float64(d) / 1e3 / float64(to-from) }
	w.points = append(w.points, Point{to, matches, per(took), per(wall)})
}

// sum adds up what was looked up.
func (f *MatchFigure) sum(points []Point, lookups int) {
	f.Looked, f.Matches = lookups, 0
	for _, p := range points {
		f.Matches += p.Matches
	}
}

// sampled is the engine that looks up a sample only.
const sampled = "scan"

// matchEngine runs a detector over all sentences.
func matchEngine(ctx context.Context, s *corpus, t text.Threshold, e detector.Engine, f *MatchFigure) ([]Point, error) {
	m, err := model()
	if err != nil {
		return nil, err
	}
	d, err := detector.NewPartitions(detector.Config{Threshold: t, Span: long, Lateness: time.Minute, Model: m,
		Engine: e}, 1, 1)
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory()
	run, some := engineRun{d: d}, sample{}
	if f.Engine == sampled {
		some.all = s.len()
	}
	for from, to := 0, 0; from < s.len(); from = to {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		to = nextBatch(from, s.len())
		run.batch = s.sentences(run.batch[:0], from, to)
		if some.includes(from, to) {
			run.detect(from, to)
		} else {
			run.insert()
		}
		if from%(16*matchBatch) == 0 {
			run.release.Holds(d.All()[0].Stats().Bytes)
		}
	}
	f.Candidates, f.Bytes = d.All()[0].Counts().Candidates, d.All()[0].Stats().Bytes
	f.sum(run.points, run.lookedUp)
	return run.points, nil
}

// engineRun is a run of a detector.
type engineRun struct {
	stopwatch
	d        *detector.Partitions
	batch    []feed.Sentence
	matches  []feed.Match
	lookedUp int
	release  memory.Keeper
}

// detect looks the batch up and inserts it.
func (r *engineRun) detect(from, to int) {
	r.start()
	r.matches, _ = r.d.Detect(r.matches[:0], r.batch)
	r.stop(from, to, int64(len(r.matches)))
	r.lookedUp += len(r.batch)
}

// insert only inserts the batch.
func (r *engineRun) insert() {
	for i := range r.batch {
		r.d.All()[0].Insert(&r.batch[i])
	}
}

// matchPPJoin runs the plain PPJoin, which is given the order of the tokens up front.
func matchPPJoin(ctx context.Context, s *corpus, t text.Threshold, f *MatchFigure) ([]Point, error) {
	j := ppjoin.New(t, s.order())
	debug.FreeOSMemory()
	var hits []uint32
	var w stopwatch
	for from, to := 0, 0; from < s.len(); from = to {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		to = nextBatch(from, s.len())
		matches := 0
		w.start()
		for i := from; i < to; i++ {
			hits = j.Next(hits[:0], s.set(i))
			matches += len(hits)
		}
		w.stop(from, to, int64(matches))
	}
	f.Candidates = int64(j.Candidates())
	f.sum(w.points, s.len())
	return w.points, nil
}

// order is all token ids, the rarest first.
func (c *corpus) order() []uint64 {
	frequency := map[uint64]int{}
	for _, id := range c.tokens {
		frequency[id]++
	}
	return rarestFirst(frequency)
}

// rarestFirst is the tokens by their frequency, ties by id.
func rarestFirst(frequency map[uint64]int) []uint64 {
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

package tables

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/internal/memory"
	"refrain/internal/units"
	"refrain/lab/bench/peers/searchers"
	"refrain/lab/cpu"
	"refrain/lab/growth"
	"refrain/lab/report"
	"refrain/text"
)

// StallsOptions are what Stalls asks besides.
type StallsOptions struct {
	Rows      []int // sizes of the window, about
	Threshold string
	Engine    string
	Seed      uint64
}

// DefaultStalls is the table's.
func DefaultStalls() StallsOptions {
	return StallsOptions{Rows: []int{1_000_000, 5_000_000, 10_000_000}, Threshold: "0.8", Engine: "prefix", Seed: 1}
}

// QuickStalls is a quick run's.
func QuickStalls() StallsOptions {
	o := DefaultStalls()
	o.Rows = []int{20_000}
	return o
}

func (o *StallsOptions) validate() error {
	return errors.Join(wantPositive("rows", o.Rows...))
}

// StallsFigure is one window. Longest are in milliseconds of the worker's thread.
type StallsFigure struct {
	Rows   int     `json:"rows"`
	Fill   float64 `json:"fill"`   // s by the clock: inserted without look-up, by one goroutine
	Shared float64 `json:"shared"` // s by the clock: the same by a goroutine a processor, with a partition each
	Grow   float64 `json:"grow"`   // longest insertion of one row, as the window grows
	Roll   float64 `json:"roll"`   // longest look-up and insertion of one row, as it rolls
	Drop   float64 `json:"drop"`   // longest move of the clock as it rolls: a block goes
	Pause  float64 `json:"pause"`  // ms by the clock: longest stop of all threads by the collector
	Cycles uint64  `json:"cycles"` // collections
	Bytes  int64   `json:"bytes"`  // that the window counts, after it has rolled
	RSS    int64   `json:"rss"`    // then
}

// Stalls fills windows with made-up sentences and lets them roll: what keeps a worker from its next sentence, and for how
// long.
func Stalls(ctx context.Context, c *Config, o StallsOptions) (*report.Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	r := c.report("stalls", "The longest stall of a worker, by the size of its window: one partition, no texts.",
		fmt.Sprintf("made-up sentences, seed %d, fitted to %s", o.Seed, growth.Fitted().Data))
	var all []StallsFigure
	for _, rows := range o.Rows {
		f, err := c.stall(ctx, rows, &o)
		if err != nil {
			return nil, err
		}
		c.step("stalls: %s rows: %.3g ms as it grows, %.3g and %.3g as it rolls, filled in %.3g s and %.3g s",
			units.Thousands(rows), f.Grow, f.Roll, f.Drop, f.Fill, f.Shared)
		all = append(all, f)
	}
	return stallsReport(r, all, &o), nil
}

func stallsReport(r *report.Report, all []StallsFigure, o *StallsOptions) *report.Report {
	r.Figures = all
	g := report.Grid{Head: []string{
		"sentences in the span", "insertion as it grows, ms", "look-up and insertion as it rolls, ms", "a block goes, ms",
		"pause of the collector, ms", "collections", "window", "RSS", "RSS against the window", "filled, s",
		fmt.Sprintf("filled by %d, s", runtime.GOMAXPROCS(0)),
	}}
	for i := range all {
		f := &all[i]
		g.Add(units.Thousands(f.Rows), units.Three(f.Grow), units.Three(f.Roll), units.Three(f.Drop), units.Three(f.Pause), f.Cycles,
			units.Bytes(f.Bytes), units.Bytes(f.RSS), fmt.Sprintf("%.2f x", float64(f.RSS)/float64(f.Bytes)),
			units.Three(f.Fill), units.Three(f.Shared))
	}
	r.Grids = append(r.Grids, g)
	r.Note("θ %s, engine %s; the longest of all rows: processor time of the worker's thread, the collector's assistance "+
		"included; pauses by the clock, of the runtime's histogram", o.Threshold, o.Engine)
	r.Note("a window is filled without look-ups, as by replay, and then rolls on by a quarter of its span with them; the clock " +
		"moves on every thousand rows")
	r.Note("filled by several: a partition each, half of the rows or less in it, on a goroutine of its own; making the sentences " +
		"is not timed")
	return r
}

// stall measures one size.
func (c *Config) stall(ctx context.Context, rows int, o *StallsOptions) (f StallsFigure, err error) {
	t, err := text.ParseThreshold(o.Threshold)
	if err != nil {
		return f, err
	}
	e, err := c.engine(o.Engine)
	if err != nil {
		return f, err
	}
	f.Rows = rows
	if f.Shared, err = c.fillShared(ctx, rows, t, e, o.Seed); err != nil {
		return f, err
	}
	debug.FreeOSMemory()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := stalling{ctx: ctx, stream: growth.New(growth.Fitted(), o.Seed)}
	if s.window, err = newStalling(t, e, rows); err != nil {
		return f, err
	}
	before := collections()
	for s.rows < rows {
		c.status("stalls: %s of %s rows", units.Thousands(s.rows), units.Thousands(rows))
		took, err := s.step(func(x *feed.Sentence) { s.window.Insert(x) }, &f.Grow)
		if err != nil {
			return f, err
		}
		f.Fill += took.Seconds()
	}
	for s.rows < rows+rows/4 {
		c.status("stalls: %s rows, rolling", units.Thousands(s.rows))
		if _, err := s.step(func(x *feed.Sentence) {
			s.matches = s.window.LookupNew(s.matches[:0], x)
			s.window.Insert(x)
		}, &f.Roll); err != nil {
			return f, err
		}
		s.timed(&f.Drop, func() { s.window.Advance(s.clock) })
	}
	f.Pause, f.Cycles = collections().since(before)
	f.Bytes, f.RSS = s.window.Stats().Bytes, memory.RSS()
	return f, nil
}

// stallStep is how many rows are made at a time, which is not timed, and after how many the clock moves on.
const stallStep = 1000

// stalling is a window on its way.
type stalling struct {
	ctx     context.Context
	window  *detector.Partition
	stream  *growth.Stream
	release memory.Keeper
	rows    int
	clock   feed.Time
	made    []*feed.Sentence
	matches []feed.Match
}

func newStalling(t text.Threshold, e detector.Engine, rows int) (*detector.Partition, error) {
	m, err := model()
	if err != nil {
		return nil, err
	}
	return detector.NewPartition(detector.Config{
		Threshold: t, Span: time.Duration(rows) * time.Millisecond, Model: m, Engine: e, OmitTexts: true,
	})
}

// make makes the next rows.
func (s *stalling) make() error {
	if err := interrupted(s.ctx); err != nil {
		return err
	}
	s.made = s.made[:0]
	for range stallStep {
		set, _ := s.stream.Next(nil)
		s.made = append(s.made, searchers.RowSentence(s.rows, set))
		s.rows++
	}
	s.clock = s.made[len(s.made)-1].Time
	return nil
}

// step does the same with each of the next rows.
func (s *stalling) step(do func(x *feed.Sentence), longest *float64) (took time.Duration, err error) {
	if err := s.make(); err != nil {
		return 0, err
	}
	begin := time.Now()
	for _, x := range s.made {
		s.timed(longest, func() { do(x) })
	}
	took = time.Since(begin)
	s.release.Holds(s.window.Stats().Bytes)
	return took, nil
}

// timed notes what takes longest, in milliseconds.
func (s *stalling) timed(longest *float64, do func()) {
	begin := cpu.Thread()
	do()
	*longest = max(*longest, (cpu.Thread()-begin).Seconds()*1e3)
}

// fillShared fills as many partitions as there are processors side by side.
func (c *Config) fillShared(ctx context.Context, rows int, t text.Threshold, e detector.Engine, seed uint64) (float64, error) {
	var parts []*detector.Partition
	for range runtime.GOMAXPROCS(0) {
		p, err := newStalling(t, e, rows)
		if err != nil {
			return 0, err
		}
		parts = append(parts, p)
	}
	s, took := stalling{ctx: ctx, stream: growth.New(growth.Fitted(), seed)}, time.Duration(0)
	for s.rows < rows {
		c.status("stalls: %s of %s rows, side by side", units.Thousands(s.rows), units.Thousands(rows))
		if err := s.make(); err != nil {
			return 0, err
		}
		begin := time.Now()
		insertOwn(parts, s.made)
		took += time.Since(begin)
	}
	return took.Seconds(), nil
}

// insertOwn inserts each sentence into its partition.
func insertOwn(parts []*detector.Partition, all []*feed.Sentence) {
	var wait sync.WaitGroup
	for n, p := range parts {
		wait.Go(func() {
			for _, x := range all {
				if x.Group.Partition(len(parts)) == n {
					p.Insert(x)
				}
			}
		})
	}
	wait.Wait()
}

// collected is what the collector has done so far.
type collected struct {
	cycles uint64
	pauses []uint64 // by bucket
	bounds []float64
}

func collections() collected {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	h := s[1].Value.Float64Histogram()
	return collected{s[0].Value.Uint64(), append([]uint64(nil), h.Counts...), h.Buckets}
}

// since is the longest pause, at most, in milliseconds, and the collections.
func (c collected) since(before collected) (longest float64, cycles uint64) {
	for i, n := range c.pauses {
		if n > before.pauses[i] && !math.IsInf(c.bounds[i+1], 1) {
			longest = c.bounds[i+1] * 1e3
		}
	}
	return longest, c.cycles - before.cycles
}

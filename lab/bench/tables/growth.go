package tables

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/memory"
	"refrain/internal/units"
	"refrain/lab/bench/peers/ppjoin"
	"refrain/lab/bench/peers/searchers"
	"refrain/lab/cpu"
	"refrain/lab/growth"
	"refrain/lab/report"
	"refrain/sigstore"
	"refrain/text"
)

// GrowthOptions are what Growth asks besides.
type GrowthOptions struct {
	Rows       []int // sizes of the window, ascending
	Thresholds []string
	Engines    []string // ppjoin is the yardstick
	Lookups    int      // at each size, in each round
	Seed       uint64
	Beside     string // file with the figures of another build, as --json prints them; "": none
	SVG        string // file to plot to; "": none
}

// DefaultGrowth is the table's.
func DefaultGrowth() GrowthOptions {
	return GrowthOptions{
		Rows: []int{1_000_000, 2_000_000, 5_000_000, 10_000_000, 25_000_000}, Thresholds: []string{"0.8", "0.6"},
		Engines: []string{"prefix", "scan", plainName}, Lookups: 2000, Seed: 1,
	}
}

// QuickGrowth is a quick run's.
func QuickGrowth() GrowthOptions {
	o := DefaultGrowth()
	o.Rows, o.Lookups = []int{5000, 20_000}, 500
	return o
}

// plainName is how a flag names the yardstick.
const plainName = "ppjoin"

func (o *GrowthOptions) validate() error {
	errs := []error{wantPositive("rows", o.Rows...), wantSome("thresholds", o.Thresholds), wantSome("engines", o.Engines),
		wantPositive("lookups", o.Lookups)}
	if !slices.IsSorted(o.Rows) {
		errs = append(errs, optionError("rows %v: want them ascending", o.Rows))
	}
	return errors.Join(errs...)
}

// GrowthFigure is one engine at one threshold and size.
type GrowthFigure struct {
	Engine     string  `json:"engine"`
	Threshold  string  `json:"threshold"`
	Rows       int     `json:"rows"`
	Lookup     float64 `json:"lookup"` // µs of processor time, the median of the rounds
	Met        float64 `json:"met"`    // entries of lists that a look-up reads; -1: not told
	Lists      float64 `json:"lists"`  // lists and nodes that it reads; -1: not told
	Candidates float64 `json:"candidates"`
	Matches    float64 `json:"matches"`
	Insert     float64 `json:"insert"`  // µs of processor time, of the rows since the size before
	Bytes      float64 `json:"bytes"`   // a row
	Stall      float64 `json:"stall"`   // ms: the longest that one row took to insert, since the size before, by the clock
	Process    int64   `json:"process"` // bytes of memory that the process has
}

// NoRoomToGrow says that this machine has too little memory for DefaultGrowth.
func NoRoomToGrow() error {
	const want = 12 << 30
	if total := memory.Total(); total < want {
		return fmt.Errorf("it takes %s of memory, and there are %s: give it fewer --rows", units.Bytes(want), units.Bytes(total))
	}
	return nil
}

// growing is what is measured as it grows.
type growing interface {
	add(row int, set []uint64)
	lookup(first int, sets [][]uint64) (matches int)
	candidates() int64
	met() int64   // -1: it does not tell
	lists() int64 // likewise
	bytes() int64
}

// Growth inserts made-up sentences, and looks some up at every size. When it is interrupted the figures so far are told.
func Growth(ctx context.Context, c *Config, o GrowthOptions) (*report.Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	list, err := thresholds(o.Thresholds)
	if err != nil {
		return nil, err
	}
	beside, err := o.beside()
	if err != nil {
		return nil, err
	}
	last := o.Rows[len(o.Rows)-1]
	r := c.report("growth",
		fmt.Sprintf("Look-ups in a window that grows to %s distinct sentences, one partition, one thread.", units.Thousands(last)),
		fmt.Sprintf("made-up sentences, seed %d, fitted to %s", o.Seed, growth.Fitted().Data))
	var all []GrowthFigure
	for _, t := range list {
		for _, engine := range o.Engines {
			figures, err := c.grow(ctx, t, engine, &o)
			all = append(all, figures...)
			if err == nil {
				continue
			}
			if ctx.Err() == nil || len(all) == 0 {
				return nil, err
			}
			r.Note("interrupted: what is missing was not measured")
			return c.growthReport(r, append(beside, all...), &o)
		}
	}
	return c.growthReport(r, append(beside, all...), &o)
}

// besideName says of an engine that its figures are of another build.
const besideName = ", before"

// beside reads the figures of another build.
func (o *GrowthOptions) beside() (all []GrowthFigure, err error) {
	if o.Beside == "" {
		return nil, nil
	}
	data, err := os.ReadFile(o.Beside)
	if err != nil {
		return nil, err
	}
	var before struct{ Figures []GrowthFigure }
	if err := json.Unmarshal(data, &before); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Beside, err)
	}
	for _, f := range before.Figures {
		f.Engine += besideName
		all = append(all, f)
	}
	return all, nil
}

// growthReport makes the tables of what was measured, and the plot.
func (c *Config) growthReport(r *report.Report, all []GrowthFigure, o *GrowthOptions) (*report.Report, error) {
	r.Figures = all
	for _, threshold := range thresholdsOf(growthCurves(all)) {
		g := report.Grid{Caption: "**θ " + threshold + "**", Head: []string{
			"rows", "engine", "µs a look-up", "to the first size", "entries read", "lists read", "candidates", "matches",
			"µs an insertion", "bytes a sentence", "longest stall, ms", "memory of the process",
		}}
		for i := range all {
			if f := &all[i]; f.Threshold == threshold {
				f.addTo(&g, f.first(all))
			}
		}
		r.Grids = append(r.Grids, g)
	}
	r.Note("%s look-ups at each size, of the sentences that come next, 64 at once; verification included; rows are inserted "+
		"without look-up; %s", units.Thousands(o.Lookups), c.medians())
	r.Note("µs: processor time, collection of garbage included; stall: by the clock, the longest insertion of one row since " +
		"the size before, other work on the machine included; entries read: of lists, where the engine tells, of PPJoin those " +
		"of a size that fits; lists read: with the nodes above them")
	r.Note("no texts are kept; PPJoin is given the order of the tokens of the first %s rows", units.Thousands(orderRows))
	if o.SVG == "" {
		return r, nil
	}
	r.Plot = filepath.Base(o.SVG)
	return r, report.WriteFile(o.SVG, growthPlot(all, r.Command))
}

func (f *GrowthFigure) addTo(g *report.Grid, first *GrowthFigure) {
	told := func(v float64) string {
		if v < 0 {
			return "-"
		}
		return units.Three(v)
	}
	g.Add(units.Thousands(f.Rows), f.Engine, units.Three(f.Lookup), units.Times(f.Lookup/first.Lookup), told(f.Met), told(f.Lists),
		units.Three(f.Candidates), units.Three(f.Matches), units.Three(f.Insert), fmt.Sprintf("%.0f", f.Bytes),
		units.Three(f.Stall), units.Bytes(f.Process))
}

// first is the figure of the same engine at the same threshold that was measured first.
func (f *GrowthFigure) first(all []GrowthFigure) *GrowthFigure {
	return &all[slices.IndexFunc(all, func(g GrowthFigure) bool {
		return g.Engine == f.Engine && g.Threshold == f.Threshold
	})]
}

// growthCurves are the µs of each engine at each threshold.
func growthCurves(all []GrowthFigure) (list []curve) {
	for i := range all {
		f := &all[i]
		if f.first(all) == f {
			list = append(list, curve{name: f.Engine, threshold: f.Threshold})
		}
		k := &list[slices.IndexFunc(list, func(k curve) bool { return k.name == f.Engine && k.threshold == f.Threshold })]
		k.sizes, k.values = append(k.sizes, float64(f.Rows)), append(k.values, f.Lookup)
	}
	return list
}

// growthPlot draws the cost of a look-up by window and engine.
func growthPlot(all []GrowthFigure, command string) []byte {
	return enginePlot(growthCurves(all), report.Plot{
		Title: "µs a look-up by window: " + command,
		X:     report.Axis{Title: "distinct sentences in the window", Log: true}, Y: report.Axis{Title: "µs", Log: true},
	}).SVG()
}

// grow measures one engine at one threshold.
func (c *Config) grow(
	ctx context.Context, t text.Threshold, engine string, o *GrowthOptions,
) (figures []GrowthFigure, err error) {
	debug.FreeOSMemory()
	last := o.Rows[len(o.Rows)-1] + c.Runs*o.Lookups
	g := growthRun{stream: growth.NewDistinct(growth.New(growth.Fitted(), o.Seed), last)}
	if g.of, err = c.growing(t, engine, o, last); err != nil {
		return nil, err
	}
	for _, rows := range o.Rows {
		f := GrowthFigure{Engine: engine, Threshold: decimal(t), Rows: rows}
		err := g.fill(ctx, rows, &f, func() {
			c.status("growth: θ %v, %s: %s of %s rows", t, engine, units.Thousands(g.rows), units.Thousands(rows))
		})
		if err != nil {
			return figures, err
		}
		g.measure(c.Runs, o.Lookups, &f)
		f.Process = memory.RSS()
		c.step("growth: θ %s, %s, %s rows: %.2f µs a look-up, %.4g entries in %.3g lists, %.3g candidates, %.0f bytes a row",
			f.Threshold, engine, units.Thousands(rows), f.Lookup, f.Met, f.Lists, f.Candidates, f.Bytes)
		figures = append(figures, f)
	}
	return figures, nil
}

func (c *Config) growing(t text.Threshold, engine string, o *GrowthOptions, last int) (growing, error) {
	if engine == plainName {
		stream := growth.NewDistinct(growth.New(growth.Fitted(), o.Seed), last)
		return newPlainGrowth(t, stream, min(last, orderRows)), nil
	}
	e, err := c.engine(engine)
	if err != nil {
		return nil, err
	}
	return newWindowGrowth(t, e)
}

// growthRun is a window on its way.
type growthRun struct {
	stream *growth.Distinct
	of     growing
	rows   int
	sets   [][]uint64
	next   int // of sets: made and looked up, not yet inserted
}

// growthStep is how many sentences are made before they are inserted: only that is timed.
const growthStep = 10_000

// fill inserts until there are so many rows.
func (g *growthRun) fill(ctx context.Context, rows int, f *GrowthFigure, status func()) error {
	before, took := g.rows, time.Duration(0)
	for g.rows < rows {
		if err := interrupted(ctx); err != nil {
			return err
		}
		n := min(growthStep, rows-g.rows)
		g.make(n)
		begin := cpu.Time()
		f.Stall = max(f.Stall, g.insert(n).Seconds()*1e3)
		took += cpu.Time() - begin
		status()
	}
	f.Insert = float64(took) / 1e3 / float64(max(1, g.rows-before))
	f.Bytes = float64(g.of.bytes()) / float64(g.rows)
	return nil
}

// make makes at least so many sentences.
func (g *growthRun) make(n int) {
	if g.next > 0 {
		g.sets = append(g.sets[:0], g.sets[g.next:]...)
		g.next = 0
	}
	for len(g.sets) < n {
		g.sets = append(g.sets, g.stream.Next(nil))
	}
}

// insert inserts so many of those made, and tells the longest that one took.
func (g *growthRun) insert(n int) (longest time.Duration) {
	before := time.Now()
	for _, set := range g.sets[:n] {
		g.of.add(g.rows, set)
		g.rows++
		now := time.Now()
		longest, before = max(longest, now.Sub(before)), now
	}
	g.next = n
	return longest
}

// measure looks up the sentences that come next, others in each round.
func (g *growthRun) measure(rounds, lookups int, f *GrowthFigure) {
	g.make(rounds * lookups)
	candidates, met, lists := g.of.candidates(), g.of.met(), g.of.lists()
	matches, micros := 0, make([]float64, rounds)
	for round := range micros {
		begin, first := cpu.Time(), round*lookups
		matches += g.of.lookup(g.rows+first, g.sets[first:first+lookups])
		micros[round] = float64(cpu.Time()-begin) / 1e3 / float64(lookups)
	}
	n := float64(rounds * lookups)
	f.Lookup, f.Matches, f.Candidates = median(micros), float64(matches)/n, float64(g.of.candidates()-candidates)/n
	f.Met, f.Lists = perLookup(g.of.met(), met, n), perLookup(g.of.lists(), lists, n)
}

// perLookup is what was counted since, for each of n look-ups; -1 where nothing is.
func perLookup(now, before int64, n float64) float64 {
	if now < 0 {
		return -1
	}
	return float64(now-before) / n
}

// windowGrowth is the product's.
type windowGrowth struct {
	*detector.Partition
	expected []*feed.Sentence
	matches  []feed.Match
	release  memory.Keeper
	index    sigstore.Index
}

func newWindowGrowth(t text.Threshold, e detector.Engine) (w *windowGrowth, err error) {
	m, err := model()
	if err != nil {
		return nil, err
	}
	w = &windowGrowth{}
	w.Partition, err = detector.NewPartition(detector.Config{
		Threshold: t, Span: searchers.Forever, Lateness: time.Minute, Model: m, Engine: w.watched(e), OmitTexts: true,
	})
	return w, err
}

// watched is the engine, whose index is noted.
func (w *windowGrowth) watched(e detector.Engine) detector.Engine {
	return func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		make := e(b, m)
		return func(rows sigstore.Rows) sigstore.Index {
			w.index = make(rows)
			return w.index
		}
	}
}

func (w *windowGrowth) add(row int, set []uint64) {
	w.Insert(searchers.RowSentence(row, set))
	if row%growthStep == 0 {
		w.release.Holds(w.Stats().Bytes)
	}
}

func (w *windowGrowth) lookup(first int, sets [][]uint64) (matches int) {
	const batch = 64
	for from := 0; from < len(sets); from += batch {
		w.expected = w.expected[:0]
		for i, set := range sets[from:min(from+batch, len(sets))] {
			w.expected = append(w.expected, searchers.RowSentence(first+from+i, set))
		}
		w.Expect(w.expected)
		for _, x := range w.expected {
			w.matches = w.LookupNew(w.matches[:0], x)
			matches += len(w.matches)
		}
	}
	return matches
}

func (w *windowGrowth) candidates() int64 { return w.Counts().Candidates }
func (w *windowGrowth) bytes() int64      { return w.Stats().Bytes }

// met is what the index tells, if it does.
func (w *windowGrowth) met() int64 {
	if m, ok := w.index.(interface{ Met() int64 }); ok {
		return m.Met()
	}
	return -1
}

func (w *windowGrowth) lists() int64 {
	if l, ok := w.index.(interface{ ListsRead() int64 }); ok {
		return l.ListsRead()
	}
	return -1
}

// plainGrowth is the yardstick.
type plainGrowth struct {
	*ppjoin.Join
	hits []uint32
}

// orderRows are those of which the yardstick is told the order of the tokens.
const orderRows = 1_000_000

func newPlainGrowth(t text.Threshold, stream *growth.Distinct, rows int) *plainGrowth {
	frequency := map[uint64]int{}
	var set []uint64
	for range rows {
		set = stream.Next(set[:0])
		for _, id := range set {
			frequency[id]++
		}
	}
	return &plainGrowth{Join: ppjoin.New(t, rarestFirst(frequency))}
}

func (p *plainGrowth) add(_ int, set []uint64) { p.Add(set) }

func (p *plainGrowth) lookup(_ int, sets [][]uint64) (matches int) {
	for _, set := range sets {
		p.hits = p.Search(p.hits[:0], set)
		matches += len(p.hits)
	}
	return matches
}

func (p *plainGrowth) candidates() int64 { return int64(p.Candidates()) }
func (p *plainGrowth) met() int64        { return int64(p.Met()) }
func (p *plainGrowth) lists() int64      { return -1 }
func (p *plainGrowth) bytes() int64      { return p.Bytes() }

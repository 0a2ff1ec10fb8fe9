package lossless

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/units"
	"refrain/lab/cpu"
	"refrain/lab/eval"
	"refrain/lab/report"
	"refrain/sigstore"
	"refrain/sigstore/prefix"
	"refrain/text"
)

// EffectFigure is a detector with one engine and one kind of codes.
type EffectFigure struct {
	Threshold  string  `json:"threshold"`
	Engine     string  `json:"engine"`
	Codes      string  `json:"codes"`
	Window     int     `json:"window"` // distinct sentences
	Lookups    int     `json:"lookups"`
	Runs       int     `json:"runs"`
	CPU        float64 `json:"cpu"`  // µs a look-up, median of the runs
	Wall       float64 `json:"wall"` // the same by the clock
	Candidates int64   `json:"candidates"`
	Events     int     `json:"events"`
	IDs        string  `json:"ids"`   // sum of the event ids: equal for equal events in any order
	Bytes      int64   `json:"bytes"` // of the window
}

// effectEngines are by name.
var effectEngines = []struct {
	name string
	make detector.Engine
}{
	{"scan", detector.Scan},
	{"prefix", func(b *hashcodes.Bounds, _ *hashcodes.Model) sigstore.Engine { return prefix.New(b) }},
}

// effectCodes are the learners with their bits and ones. Of a learner that states fewer there is no row.
var effectCodes = []struct {
	learner    string
	bits, ones int
}{
	{"md5", 32, 2}, {"md5", 32, 1}, {"direct", 32, 1}, {"direct", 32, 2},
	{"md5", 64, 1}, {"direct", 64, 1}, {"md5", 64, 2}, {"direct", 64, 2},
}

// minDetectorTime is how long the runs of one detector take, in processor time, when there are no more of them.
const minDetectorTime = 20 * time.Second

const effectRuns = 3

// DefaultEffect is the table's.
func DefaultEffect() Options {
	return Options{Corpora: []string{"ira"}, Thresholds: []string{"0.8", "0.6"}}
}

// Effect measures what codes mean for a detector: the window holds the later sentences of a corpus but for the last, which
// are looked up. All detectors are in one process and take turns; the events must be the same.
func Effect(ctx context.Context, c *eval.Config, o Options) (*report.Report, error) {
	list, err := o.ParseThresholds()
	if err != nil {
		return nil, err
	}
	h, err := readHalves(ctx, c, o.Corpora[0], sizesOf(c).queries)
	if err != nil {
		return nil, err
	}
	e := effect{Config: c, Options: &o, halves: h, trainer: h.trainer(c)}
	e.lookups = min(eval.Size(c, 10_000, 300), len(h.later)/2)
	r := c.Report("effect", "What codes mean for a detector: look-ups in a window of sentences later than those "+
		"that the codes were learned from.",
		fmt.Sprintf("%s: a window of %s, %s looked up", h, units.Thousands(len(h.later)-e.lookups), units.Thousands(e.lookups)))
	var all []EffectFigure
	for _, t := range list {
		figures, err := e.threshold(ctx, t)
		if err != nil {
			return nil, err
		}
		r.Grids, all = append(r.Grids, effectGrid(t, figures)), append(all, figures...)
	}
	r.Figures = all
	r.Note("one goroutine; look-ups and verification, without insertion; µs: processor time, the median of %d runs "+
		"in turns, fewer where they take more than %v together; texts are not kept", effectRuns, minDetectorTime)
	r.Note("the sum of the event ids is equal in all rows of a threshold, or this is an error")
	r.Note("candidates: sentences whose tokens were compared. prefix meets only sentences that share a rare token " +
		"with the one looked up, and the signature filters those")
	return r, nil
}

// effect is the table in the making.
type effect struct {
	*eval.Config
	*Options
	*halves
	*trainer
	lookups int
}

// contender is a detector with a full window.
type contender struct {
	EffectFigure
	d           *detector.Partition
	cpus, walls []float64 // µs a look-up, by run
	elapsed     time.Duration
}

func (e *effect) threshold(ctx context.Context, t text.Threshold) ([]EffectFigure, error) {
	all, err := e.contenders(ctx, t)
	if err != nil {
		return nil, err
	}
	xs := e.sentences(len(e.later)-e.lookups, len(e.later))
	for run := range effectRuns {
		for i := range all {
			k := &all[i]
			if k.elapsed > minDetectorTime {
				continue
			}
			e.Now("θ %s, %s with %s: run %d of %d", decimal(t), k.Engine, k.Codes, run+1, effectRuns)
			if err := k.run(ctx, xs); err != nil {
				return nil, err
			}
		}
	}
	figures := make([]EffectFigure, len(all))
	for i := range all {
		figures[i] = all[i].finish()
		if f := &figures[i]; f.Events != figures[0].Events || f.IDs != figures[0].IDs {
			return nil, fmt.Errorf("θ %s: %s with %s has %d events of sum %s, %s with %s %d of sum %s", decimal(t), f.Engine,
				f.Codes, f.Events, f.IDs,
				figures[0].Engine, figures[0].Codes, figures[0].Events, figures[0].IDs)
		}
	}
	return figures, nil
}

// contenders fills a window for every engine and codes.
func (e *effect) contenders(ctx context.Context, t text.Threshold) (all []contender, err error) {
	size := sizesOf(e.Config)
	for _, codes := range effectCodes {
		m, err := e.models(ctx, size.spec(e.Config, e.name, codes.learner, codes.bits, 0, t), laterOnes)
		if err != nil {
			return nil, err
		}
		model := m[slices.Index(laterOnes, codes.ones)].Model
		if model.Ones() != codes.ones {
			continue
		}
		for _, engine := range effectEngines {
			e.Now("θ %s: filling the window of %s with %s", decimal(t), engine.name, model.Name())
			d, err := detector.NewPartition(detector.Config{
				Threshold: t, Span: 87600 * time.Hour, Lateness: time.Minute, OmitTexts: true, Model: model, Engine: engine.make,
			})
			if err != nil {
				return nil, err
			}
			if err := e.fill(ctx, d); err != nil {
				return nil, err
			}
			all = append(all, contender{d: d, EffectFigure: EffectFigure{
				Threshold: decimal(t), Engine: engine.name, Codes: model.Name(), Window: d.Stats().Groups, Lookups: e.lookups,
				Bytes: d.Stats().Bytes,
			}})
		}
	}
	debug.FreeOSMemory()
	return all, nil
}

func (e *effect) fill(ctx context.Context, d *detector.Partition) error {
	const batch = 10_000
	for from := 0; from < len(e.later)-e.lookups; from += batch {
		if err := eval.Interrupted(ctx); err != nil {
			return err
		}
		xs := e.sentences(from, min(from+batch, len(e.later)-e.lookups))
		for i := range xs {
			d.Insert(&xs[i])
		}
	}
	return nil
}

// sentences makes sentences of the later sets, each of a post of its own, so that any two may match, a second apart.
func (e *effect) sentences(from, to int) []feed.Sentence {
	xs := make([]feed.Sentence, 0, to-from)
	for i := from; i < to; i++ {
		group := feed.GroupHash(e.later[i])
		xs = append(xs, feed.Sentence{
			Source: "eval", Post: strconv.Itoa(i), Time: firstTime + feed.Time(1000*i), Tokens: e.later[i], Group: group,
			Sequence: binary.LittleEndian.Uint64(group[:]), Version: uint64(i), Coverage: 1,
		})
	}
	return xs
}

// firstTime is 2026-01-01.
const firstTime = 1_767_225_600_000

// run looks all sentences up, some at a time as a detector is given them.
func (k *contender) run(ctx context.Context, xs []feed.Sentence) error {
	const batch = 64
	var matches []feed.Match
	var expected []*feed.Sentence
	var sum uint64
	events, before := 0, k.d.Counts().Candidates
	used, begin := cpu.Time(), time.Now()
	for some := range slices.Chunk(xs, batch) {
		if err := eval.Interrupted(ctx); err != nil {
			return err
		}
		expected = expected[:0]
		for i := range some {
			expected = append(expected, &some[i])
		}
		k.d.Expect(expected)
		for _, x := range expected {
			matches = k.d.Lookup(matches[:0], x)
			events += len(matches)
			for i := range matches {
				sum += binary.LittleEndian.Uint64(matches[i].ID[:])
			}
		}
	}
	took := cpu.Time() - used
	k.elapsed += took
	k.cpus = append(k.cpus, took.Seconds()*1e6/float64(len(xs)))
	k.walls = append(k.walls, time.Since(begin).Seconds()*1e6/float64(len(xs)))
	k.Candidates, k.Events, k.IDs = k.d.Counts().Candidates-before, events, fmt.Sprintf("%016x", sum)
	return nil
}

func (k *contender) finish() EffectFigure {
	k.Runs, k.CPU, k.Wall = len(k.cpus), median(k.cpus), median(k.walls)
	return k.EffectFigure
}

func median(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func effectGrid(t text.Threshold, figures []EffectFigure) report.Grid {
	g := report.Grid{Caption: fmt.Sprintf("**θ %s**: %s events, the same in all rows", decimal(t),
		units.Thousands(figures[0].Events)),
		Head: []string{"engine", "codes", "µs a look-up", "look-ups a second", "against md5-32-1", "candidates a look-up",
			"window, bytes a sentence", "runs"}}
	for _, engine := range effectEngines {
		base := 0.0
		for _, f := range figures {
			if f.Engine == engine.name && f.Codes == "md5-32-1" {
				base = f.CPU
			}
		}
		for _, f := range figures {
			if f.Engine == engine.name {
				g.Add(f.Engine, f.Codes, units.Three(f.CPU), units.Thousands(int(1e6/f.CPU)), quotient(base, f.CPU),
					units.Three(float64(f.Candidates)/float64(f.Lookups)), f.Bytes/int64(max(1, f.Window)), f.Runs)
			}
		}
	}
	return g
}

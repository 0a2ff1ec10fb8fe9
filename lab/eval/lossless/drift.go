package lossless

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/eval/corpus"
	"refrain/lab/report"
	"refrain/text"
)

// DriftFigure is a week under one kind of codes.
type DriftFigure struct {
	Threshold string  `json:"threshold"`
	Week      string  `json:"week"`  // its first day
	Codes     string  `json:"codes"` // md5, fixed, retrained
	Rows      int     `json:"rows"`  // sentences of the week that were not there before
	Queries   int     `json:"queries"`
	True      int     `json:"true"`
	False     int     `json:"false"`
	CPU       float64 `json:"trainingCPU,omitempty"`

	start feed.Time
}

// driftRows is how many sentences the figures are for: weeks differ in length, and candidates grow with it.
const driftRows = 100_000

// scaled is false candidates of all queries among driftRows sentences.
func (f *DriftFigure) scaled() float64 {
	return float64(f.False) * driftRows / float64(max(1, f.Rows-1))
}

// kindsOfCodes are compared, in the order of the columns.
var kindsOfCodes = []string{"md5", "fixed", "retrained"}

// schedule says what the fixed model is learned from, and which weeks follow.
type schedule struct {
	name                  string
	begin, from, end      feed.Time // learned from begin to from; weeks from there to the end
	step, back            feed.Time // a week, and how far back the retrained models look
	minSentences, queries int       // new sentences in a week that counts; queries in a week
	sentences, words      int
}

func (s *schedule) weeks() (all []feed.Time) {
	for t := s.from; t+s.step <= s.end; t += s.step {
		all = append(all, t)
	}
	return all
}

const day = feed.Time(24 * time.Hour / time.Millisecond)

func date(year int, month time.Month) feed.Time {
	return feed.Time(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
}

// scheduleOf is half a year to learn from and the 61 weeks to the end of ira; a quick run has no such year.
func scheduleOf(c *eval.Config, s *corpus.Sentences) schedule {
	if !c.Quick {
		return schedule{
			name: "ira", begin: date(2015, time.January), from: date(2015, time.July), end: date(2016, time.September),
			step: 7 * day, back: 26 * 7 * day,
			minSentences: 500, queries: 5000, sentences: 20_000, words: 2000,
		}
	}
	first, middle, last := s.Times[0], s.Times[s.Len()/2], s.Times[s.Len()-1]
	return schedule{
		name: "ira", begin: first, from: middle, end: last + 1, step: max(1, (last-middle)/4), back: middle - first,
		minSentences: 10, queries: 200, sentences: 1000, words: 100,
	}
}

// DefaultDrift is the table's.
func DefaultDrift() Options {
	return Options{Corpora: []string{"ira"}, Bits: []int{32}, Ones: []int{1}, Thresholds: []string{"0.8", "0.6"}}
}

// Drift uses a model of the first half of 2015 on each of the weeks after it, beside one that is learned anew for each week
// from the half year before, and beside md5.
func Drift(ctx context.Context, c *eval.Config, o Options) (*report.Report, error) {
	list, err := o.ParseThresholds()
	if err != nil {
		return nil, err
	}
	s, err := c.Read(ctx, o.Corpora[0])
	if err != nil {
		return nil, err
	}
	d := drift{Config: c, Options: &o, Sentences: s, schedule: scheduleOf(c, s)}
	for _, t := range list {
		if err := d.threshold(ctx, t); err != nil {
			return nil, err
		}
	}
	r := c.Report("drift", fmt.Sprintf("A model of the first half of 2015 on the weeks after it, against one "+
		"learned anew each week and against md5: m %d, l %d.", o.Bits[0], o.Ones[0]),
		fmt.Sprintf("%s, %d weeks of %s to %s", d.name, len(d.weeks()), day10(d.from), day10(d.end-1)))
	for _, t := range list {
		r.Grids = append(r.Grids, d.grid(t))
	}
	r.Figures = d.figures
	r.Note("false candidates a query among the sentences of its week that were not there before, scaled to %s "+
		"sentences, since weeks differ in length; up to %s queries a week, weeks with fewer than %d such sentences left out",
		units.Thousands(driftRows), units.Thousands(d.queries), d.minSentences)
	r.Note("all models: direct, up to %s distinct sentences of 26 weeks, %s words, smaller than in table `later` "+
		"so that %d models are learned in minutes; fixed: January to June 2015; retrained: the 26 weeks before the week",
		units.Thousands(d.sentences), units.Thousands(d.words), len(d.weeks()))
	return r, c.Plot(r, "eval-drift.svg", d.plot(list))
}

// drift is the table in the making.
type drift struct {
	*eval.Config
	*Options
	*corpus.Sentences
	schedule
	figures []*DriftFigure
}

func (d *drift) threshold(ctx context.Context, t text.Threshold) error {
	fixed, err := d.learned(ctx, t, d.begin, d.from)
	if err != nil {
		return err
	}
	hashed, err := hashcodes.NewMD5(d.Bits[0], d.Ones[0])
	if err != nil {
		return err
	}
	for i, week := range d.weeks() {
		from, to := d.Since(week), d.Since(week+d.step)
		rows := d.New(from, to, from)
		if len(rows) < d.minSentences {
			continue
		}
		d.Now("θ %s, week %d of %d", decimal(t), i+1, len(d.weeks()))
		fresh, err := d.learned(ctx, t, week-d.back, week)
		if err != nil {
			return err
		}
		if err := d.week(ctx, t, week, rows, []trained{{Model: hashed}, fixed, fresh}); err != nil {
			return err
		}
	}
	if len(d.figures) == 0 {
		return fmt.Errorf("%s: no week has %d new sentences", d.name, d.minSentences)
	}
	d.Logf("θ %s: done", decimal(t))
	return nil
}

// learned is the model of the sentences from one time to another.
func (d *drift) learned(ctx context.Context, t text.Threshold, from, to feed.Time) (trained, error) {
	sets := slices.Collect(d.Range(d.Since(from), d.Since(to)))
	if len(sets) == 0 {
		return trained{}, fmt.Errorf("%s: no sentences from %s to %s", d.name, day10(from), day10(to))
	}
	return newTrainer(d.Config, sets).model(ctx, spec{
		fmt.Sprintf("%s_%s_%s", d.name, day10(from), day10(to)), "direct", d.Bits[0], d.Ones[0], t, d.words, d.sentences, d.Seed,
	})
}

func (d *drift) week(ctx context.Context, t text.Threshold, week feed.Time, rows [][]uint64, models []trained) error {
	queries := rows
	if len(rows) > d.queries {
		queries = some(rows, d.queries, d.Seed)
	}
	table := newTable(rows, workers())
	similar, equal, err := table.matches(ctx, text.Jaccard.At(t), queries)
	if err != nil {
		return err
	}
	for i, m := range models {
		n, err := table.candidates(ctx, text.Jaccard.At(t), m.Model, queries)
		if err != nil {
			return err
		}
		f := &DriftFigure{
			Threshold: decimal(t), Week: day10(week), Codes: kindsOfCodes[i], Rows: len(rows), Queries: len(queries),
			True: similar, False: n.within - similar - equal, start: week,
		}
		if f.Codes == "retrained" {
			f.CPU = m.CPU
		}
		d.figures = append(d.figures, f)
	}
	return nil
}

func day10(t feed.Time) string { return time.UnixMilli(int64(t)).UTC().Format(time.DateOnly) }

// month is the sum of the weeks that begin in it.
type month struct {
	name          string
	rows, queries int
	scaled        map[string]float64 // by kind of codes
	weeks         int
}

func (d *drift) months(t text.Threshold) (all []*month) {
	for _, f := range d.figures {
		if f.Threshold != decimal(t) {
			continue
		}
		if len(all) == 0 || all[len(all)-1].name != f.Week[:7] {
			all = append(all, &month{name: f.Week[:7], scaled: map[string]float64{}})
		}
		m := all[len(all)-1]
		m.scaled[f.Codes] += f.scaled()
		if f.Codes == "md5" {
			m.weeks++
			m.rows += f.Rows
			m.queries += f.Queries
		}
	}
	return all
}

func (d *drift) grid(t text.Threshold) report.Grid {
	g := report.Grid{Caption: fmt.Sprintf("**θ %s**", decimal(t)),
		Head: []string{"month", "weeks", "new sentences", "md5", "fixed", "retrained", "md5 / fixed", "md5 / retrained",
			"fixed / retrained"}}
	all := &month{name: "all", scaled: map[string]float64{}}
	for _, m := range d.months(t) {
		m.add(&g)
		all.weeks, all.rows, all.queries = all.weeks+m.weeks, all.rows+m.rows, all.queries+m.queries
		for codes, sum := range m.scaled {
			all.scaled[codes] += sum
		}
	}
	all.add(&g)
	return g
}

func (m *month) add(g *report.Grid) {
	row := []any{m.name, m.weeks, units.Thousands(m.rows)}
	for _, codes := range kindsOfCodes {
		row = append(row, units.Three(m.scaled[codes]/float64(max(1, m.queries))))
	}
	for _, pair := range [][2]string{{"md5", "fixed"}, {"md5", "retrained"}, {"fixed", "retrained"}} {
		row = append(row, quotient(m.scaled[pair[0]], m.scaled[pair[1]]))
	}
	g.Add(row...)
}

// quotient writes a ratio, where there is one.
func quotient(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return units.Times(a / b)
}

func (d *drift) plot(list []text.Threshold) *report.Plot {
	p := &report.Plot{
		Title: fmt.Sprintf("Codes that age: %s, m %d, l %d", d.name, d.Bits[0], d.Ones[0]),
		X:     report.Axis{Title: "weeks since " + day10(d.from)},
		Y:     report.Axis{Title: "false candidates a query, of " + units.Thousands(driftRows), Log: true},
	}
	for i, t := range list {
		for at, codes := range kindsOfCodes {
			curve := report.Curve{Name: fmt.Sprintf("%s, θ %s", codes, decimal(t)), Colour: report.Colours[at],
				Dashes: []string{"", "5 3", "2 2"}[min(i, 2)]}
			for _, f := range d.figures {
				if f.Threshold == decimal(t) && f.Codes == codes {
					curve.X = append(curve.X, math.Round(float64(f.start-d.from)/float64(d.step)))
					curve.Y = append(curve.Y, f.scaled()/float64(f.Queries))
				}
			}
			p.Curves = append(p.Curves, curve)
		}
	}
	return p
}

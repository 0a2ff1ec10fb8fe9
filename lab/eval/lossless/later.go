package lossless

import (
	"context"
	"fmt"
	"strings"

	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
	"refrain/text"
)

// LaterFigure is what a learner's codes are worth in one cell.
type LaterFigure struct {
	Corpus    string  `json:"corpus"`
	Bits      int     `json:"bits"`
	Ones      int     `json:"ones"` // asked for
	Threshold string  `json:"threshold"`
	Learner   string  `json:"learner"`
	States    int     `json:"states"` // ones that the model states, and that its radius is of
	Queries   int     `json:"queries"`
	Later     int     `json:"later"`        // sets that were searched
	True      int     `json:"true"`         // of all queries
	False     int     `json:"false"`        // within the radius
	Passing   int     `json:"passing"`      // of these, those that pass the counters of the query: whose tokens are compared
	Wall      float64 `json:"trainingWall"` // seconds
	CPU       float64 `json:"trainingCPU"`
}

// PerQuery is the mean number of false candidates of a query.
func (f *LaterFigure) PerQuery() float64 { return float64(f.False) / float64(max(1, f.Queries)) }

// PassingPerQuery is the mean number of false candidates of a query that pass its counters.
func (f *LaterFigure) PassingPerQuery() float64 {
	return float64(f.Passing) / float64(max(1, f.Queries))
}

// laterLearners are in the order of the columns.
var laterLearners = []string{"md5", "ner", "opt", "direct"}

// laterOnes are the numbers of ones that they are allowed.
var laterOnes = []int{1, 2}

// DefaultLater is the table's.
func DefaultLater() Options {
	return Options{
		Corpora: []string{"ira", "weibo", "hot", "reuters", "20ng"}, Bits: []int{32, 64}, Ones: laterOnes,
		Thresholds: []string{"0.8", "0.6"}, Learners: laterLearners,
	}
}

// Later counts the false candidates of searches among sentences that are later than those that the codes were learned
// from, by learner.
func Later(ctx context.Context, c *eval.Config, o Options) (*report.Report, error) {
	o = o.sorted()
	list, err := o.ParseThresholds()
	if err != nil {
		return nil, err
	}
	r := c.Report("later", "False candidates a query under the lossless radius, Jaccard, on sentences later in "+
		"time than those that the codes were learned from.", "")
	var all []*LaterFigure
	var corpora []*halves
	for _, name := range o.Corpora {
		h, err := readHalves(ctx, c, name, sizesOf(c).queries)
		if err != nil {
			return nil, err
		}
		l := later{Config: c, Options: &o, halves: h, table: newTable(h.later, workers()), trainer: h.trainer(c)}
		for _, t := range list {
			if err := l.threshold(ctx, t); err != nil {
				return nil, err
			}
		}
		r.Grids = append(r.Grids, l.grid(list))
		all = append(all, l.figures...)
		corpora = append(corpora, &halves{name: h.name, later: h.later[:len(h.later):len(h.later)]})
	}
	r.Data, r.Figures = joinNames(corpora), all
	laterNotes(c, r)
	return r, nil
}

// later is the table of one corpus.
type later struct {
	*eval.Config
	*Options
	*halves
	*table
	*trainer
	figures []*LaterFigure
}

// threshold fills all cells of a threshold.
func (l *later) threshold(ctx context.Context, t text.Threshold) error {
	l.Now("%s, θ %s: matches of %d queries", l.name, decimal(t), len(l.queries))
	similar, equal, err := l.matches(ctx, text.Jaccard.At(t), l.queries)
	if err != nil {
		return err
	}
	size := sizesOf(l.Config)
	for _, bits := range l.Bits {
		for _, learner := range l.Learners {
			models, err := l.models(ctx, size.spec(l.Config, l.name, learner, bits, 0, t), l.Ones)
			if err != nil {
				return err
			}
			for i, m := range models {
				n, err := l.candidates(ctx, text.Jaccard.At(t), m.Model, l.queries)
				if err != nil {
					return err
				}
				f := &LaterFigure{
					Corpus: l.name, Bits: bits, Ones: l.Ones[i], Threshold: decimal(t), Learner: learner, States: m.Ones(),
					Queries: len(l.queries), Later: len(l.later), True: similar, False: n.within - similar - equal,
					Passing: n.passing - similar - equal,
					Wall:    m.Wall, CPU: m.CPU,
				}
				if f.Passing < 0 {
					return fmt.Errorf("%s, θ %s, %s: %d candidates, but %d sets are similar: the radius or the counters lose some",
						l.name, decimal(t), m.Name(), n.passing, similar+equal)
				}
				l.figures = append(l.figures, f)
				l.Logf("%s: %s, m %d, l %d, θ %s: %s false candidates a query", l.name, learner, bits, f.Ones, f.Threshold,
					units.Three(f.PerQuery()))
			}
		}
	}
	return nil
}

// find is the figure of a cell.
func (l *later) find(bits, ones int, t text.Threshold, learner string) *LaterFigure {
	for _, f := range l.figures {
		if f.Bits == bits && f.Ones == ones && f.Threshold == decimal(t) && f.Learner == learner {
			return f
		}
	}
	return nil
}

func (l *later) grid(list []text.Threshold) report.Grid {
	g := report.Grid{
		Caption: fmt.Sprintf("**%s** (%s): %s queries among %s distinct later sentences", l.name, kind(l.name),
			units.Thousands(len(l.queries)), units.Thousands(len(l.later))),
		Head: append([]string{"m", "l", "θ"}, l.Learners...),
	}
	g.Head = append(g.Head, "md5 / direct", "md5, counted", "direct, counted", "md5 / direct, counted", "true",
		"training, CPU s")
	for _, bits := range l.Bits {
		for _, ones := range l.Ones {
			for _, t := range list {
				l.row(&g, bits, ones, t)
			}
		}
	}
	return g
}

func (l *later) row(g *report.Grid, bits, ones int, t text.Threshold) {
	row := []any{bits, ones, decimal(t)}
	var training []string
	for _, learner := range l.Learners {
		f := l.find(bits, ones, t, learner)
		cell := units.Three(f.PerQuery())
		if f.States != ones {
			cell += fmt.Sprintf(" (l %d)", f.States)
		}
		row = append(row, cell)
		if learner != "md5" {
			training = append(training, fmt.Sprintf("%s %.0f", learner, f.CPU))
		}
	}
	ratio := "-"
	if md5, direct := l.find(bits, ones, t, "md5"), l.find(bits, ones, t, "direct"); md5 != nil && direct != nil {
		ratio = ratioText(md5, direct)
	}
	counted := l.counted(bits, ones, t)
	first := l.find(bits, ones, t, l.Learners[0])
	g.Add(append(row, ratio, counted[0], counted[1], counted[2], units.Three(float64(first.True)/float64(first.Queries)),
		strings.Join(training, ", "))...)
}

// counted are the cells of what passes the counters: md5, direct, and md5 within the radius alone over direct.
func (l *later) counted(bits, ones int, t text.Threshold) [3]string {
	md5, direct := l.find(bits, ones, t, "md5"), l.find(bits, ones, t, "direct")
	if md5 == nil || direct == nil {
		return [3]string{"-", "-", "-"}
	}
	return [3]string{
		units.Three(md5.PassingPerQuery()), units.Three(direct.PassingPerQuery()),
		units.Times(float64(md5.False) / max(float64(direct.Passing), 0.5)),
	}
}

// ratioOf is how many times the false candidates of direct md5 has.
func ratioOf(md5, direct *LaterFigure) float64 {
	return float64(md5.False) / max(float64(direct.False), 0.5) // no false candidate at all counts half a one
}

func ratioText(md5, direct *LaterFigure) string {
	switch {
	case direct.False == 0 && md5.False == 0:
		return "-"
	case direct.False == 0:
		return "more than " + units.Times(float64(md5.False))
	}
	return units.Times(ratioOf(md5, direct))
}

func laterNotes(c *eval.Config, r *report.Report) {
	s := sizesOf(c)
	r.Note("%s queries, drawn from the later sentences; every set within the radius of the ones that the model "+
		"states is counted, but for the query itself; similar sets (true) are the same under all codes, and come from "+
		"a join without signatures", units.Thousands(s.queries))
	r.Note("learned from up to %s distinct sentences of the earlier part; direct has codes of its own for %s "+
		"words, ner and opt for %s; "+
		"ner and opt are the best on validation sets of several settings each", units.Thousands(s.sentences),
		units.Thousands(s.vocabulary), units.Thousands(s.fewVocabulary))
	r.Note("(l 1): direct was allowed two ones a word and states one. It learns for each number by itself, so the " +
		"model is that of l = 1, and was not learned twice")
	r.Note("counted: false candidates that also pass the counters of the query (docs/design/0008), which is what a " +
		"detector that scans compares; the last ratio is of md5 within the radius alone to direct with counters: the " +
		"paper's way against ours")
	r.Note("training: processor seconds; seconds by the clock are in the figures (--json)")
}

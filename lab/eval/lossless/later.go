package lossless

import (
	"context"
	"fmt"
	"slices"
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
	Counted   int     `json:"counted"`      // of these, those that pass the counters of the query
	Passing   int     `json:"passing"`      // of these, those that pass its holders: whose tokens are compared
	Wall      float64 `json:"trainingWall"` // seconds
	CPU       float64 `json:"trainingCPU"`
}

// PerQuery is the mean number of false candidates of a query.
func (f *LaterFigure) PerQuery() float64 { return float64(f.False) / float64(max(1, f.Queries)) }

// CountedPerQuery is the mean number of false candidates of a query that pass its counters.
func (f *LaterFigure) CountedPerQuery() float64 {
	return float64(f.Counted) / float64(max(1, f.Queries))
}

// PassingPerQuery is the mean number of false candidates of a query that pass its holders.
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
				wrong := n.without(similar + equal)
				if wrong.passing < 0 {
					return fmt.Errorf("%s, θ %s, %s: %d candidates, but %d sets are similar: the radius or the holders lose some",
						l.name, decimal(t), m.Name(), n.passing, similar+equal)
				}
				f := &LaterFigure{
					Corpus: l.name, Bits: bits, Ones: l.Ones[i], Threshold: decimal(t), Learner: learner, States: m.Ones(),
					Queries: len(l.queries), Later: len(l.later), True: similar, False: wrong.within, Counted: wrong.counted,
					Passing: wrong.passing, Wall: m.Wall, CPU: m.CPU,
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
	g.Head = append(g.Head, "m fair coins", "md5, counters", "md5, both", "direct, counters", "direct, both",
		"md5 / direct, both", "true", "training, CPU s")
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
	first := l.find(bits, ones, t, l.Learners[0])
	coins := l.coins(text.Jaccard.At(t), bits, ones, l.queries) / float64(len(l.queries))
	g.Add(slices.Concat(row, []any{units.Three(coins)}, l.filtered(bits, ones, t),
		[]any{units.Three(float64(first.True) / float64(first.Queries)), strings.Join(training, ", ")})...)
}

// filtered are the cells of what passes the filters of a query, of md5 and of direct, and how many times as many md5 has of
// the latter.
func (l *later) filtered(bits, ones int, t text.Threshold) (cells []any) {
	md5, direct := l.find(bits, ones, t, "md5"), l.find(bits, ones, t, "direct")
	for _, f := range []*LaterFigure{md5, direct} {
		if f == nil {
			cells = append(cells, "-", "-")
		} else {
			cells = append(cells, units.Three(f.CountedPerQuery()), units.Three(f.PassingPerQuery()))
		}
	}
	if md5 == nil || direct == nil {
		return append(cells, "-")
	}
	return append(cells, ratioText(md5.Passing, direct.Passing))
}

// ratioText writes how many times so many false candidates are as many as others. None at all counts half a one.
func ratioText(md5, direct int) string {
	switch {
	case direct == 0 && md5 == 0:
		return "-"
	case direct == 0:
		return "more than " + units.Times(float64(md5))
	}
	return units.Times(float64(md5) / float64(direct))
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
	r.Note("m fair coins: what would lie within the radius of l ones if every bit of a signature were set in half of the " +
		"sentences, independently of all others: codes alone come below that only where bits depend on each other")
	r.Note("counters: false candidates that also pass the counters of the query; both: those that pass containment too, " +
		"which is what a detector that scans compares (docs/design/0008). With one bit a token they are the same")
	r.Note("training: processor seconds; seconds by the clock are in the figures (--json)")
}

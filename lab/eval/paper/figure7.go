package paper

import (
	"context"
	"fmt"
	"strings"

	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
)

// dashes tell corpora apart in a plot, colours learners.
var dashes = []string{"none", "6 3"}

// timed are the corpora whose candidates are looked at: the largest, and one of those where codes matter most.
var timed = []string{"ira-en", "reuters"}

// Figure7 draws what verification takes by the recall that is reached.
func Figure7(ctx context.Context, c *eval.Config) (*report.Report, error) {
	r := c.Report("fig7", "Post-processing by recall: seconds, one thread, to look at the candidates of 2,000 "+
		"queries, a point for each d from 0 on; the paper's Figure 7. m = 32, l = 2, cosine >= 0.8.", "")
	plot := report.Plot{Title: "post-processing by recall",
		X: report.Axis{Title: "recall, without self-matches", From: 0, To: 1},
		Y: report.Axis{Title: "seconds for 2,000 queries", Log: true}}
	g := report.Grid{Caption: "Seconds (candidates a sentence, itself among them) where each reaches the recall of " +
		"what is similar to it besides itself:", Head: append([]string{"corpus", "recall"}, learners...)}
	all, err := timings(ctx, c, r, &plot, verifiedByRecall, func(v Verified) float64 { return v.Recall },
		func(name string, by [][]Verified) { addVerified(&g, name, by) })
	if err != nil {
		return nil, err
	}
	r.Grids, r.Figures = []report.Grid{g}, all
	r.Note("Looking at a candidate is intersecting two sorted sets of tokens. Where 2,000 queries have more than "+
		"%s candidates, as many queries as have that many are measured. The quickest of %d passes counts.",
		units.Thousands(maxVerified), passes)
	return r, c.Plot(r, "eval-fig7.svg", &plot)
}

// timings measures every learner on the corpora of the figures, draws a curve for each, and hands each corpus to add.
func timings(ctx context.Context, c *eval.Config, r *report.Report, plot *report.Plot,
	measure func(ctx context.Context, c *eval.Config, name, learner string) ([]Verified, error), x func(Verified) float64,
	add func(name string, by [][]Verified),
) (all []Verified, err error) {
	var data []string
	for i, name := range timed {
		by := make([][]Verified, len(learners))
		for k, learner := range learners {
			c.Now("%s: %s, %s", r.Name, name, learner)
			if by[k], err = measure(ctx, c, name, learner); err != nil {
				return nil, err
			}
			all = append(all, by[k]...)
			curve := report.Curve{Name: learner + ", " + name, Colour: report.Colours[k], Dashes: dashes[i], Dots: true}
			for _, v := range by[k] {
				curve.X, curve.Y = append(curve.X, x(v)), append(curve.Y, v.Seconds)
			}
			plot.Curves = append(plot.Curves, curve)
		}
		add(name, by)
		p, err := open(ctx, c, name)
		if err != nil {
			return nil, err
		}
		data = append(data, p.describe())
		c.Logf("%s: %s is done", r.Name, name)
	}
	r.Data = strings.Join(data, "; ")
	return all, nil
}

// verifiedByRecall measures at each d until the recall is 1.00.
func verifiedByRecall(ctx context.Context, c *eval.Config, name, learner string) (list []Verified, err error) {
	n, err := counted(ctx, c, name, name, learner)
	if err != nil {
		return nil, err
	}
	t, err := tableOf(ctx, c, name, learner)
	if err != nil {
		return nil, err
	}
	for d := range n.reaching(0.995, truth{}) + 1 {
		v, err := t.verify(ctx, d)
		if err != nil {
			return nil, err
		}
		v.Learner, v.Recall = learner, n.within(d, truth{}).recall()
		list = append(list, v)
	}
	return list, nil
}

func tableOf(ctx context.Context, c *eval.Config, name, learner string) (*table, error) {
	p, err := open(ctx, c, name)
	if err != nil {
		return nil, err
	}
	l, err := model(ctx, c, name, learner)
	if err != nil {
		return nil, err
	}
	return p.table(l.model, c.Seed), nil
}

func addVerified(g *report.Grid, name string, by [][]Verified) {
	for _, level := range levels[:len(levels)-1] {
		row := []any{name, level.name}
		for _, list := range by {
			for _, v := range list {
				if v.Recall >= level.recall {
					row = append(row, fmt.Sprintf("%s (%s)", units.Three(v.Seconds), units.Three(v.Candidates)))
					break
				}
			}
		}
		g.Add(row...)
	}
}

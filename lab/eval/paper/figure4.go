package paper

import (
	"context"
	"strings"

	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
)

// dashes tell corpora apart in a plot, colours learners.
var dashes = []string{"none", "6 3"}

// Figure4 draws precision by recall as d grows.
func Figure4(ctx context.Context, c *eval.Config) (*report.Report, error) {
	r := c.Report("fig4", "Precision by recall, a point for each d from 0 on: the paper's Figure 4. m = 32, l = 2, "+
		"cosine >= 0.8, without self-matches.", "")
	g := report.Grid{Head: append([]string{"corpus", "recall"}, learners...)}
	plot := report.Plot{Title: "precision by recall, d = 0, 1, …", X: report.Axis{Title: "recall", From: 0, To: 1},
		Y: report.Axis{Title: "precision", Log: true}}
	var data []string
	for i, name := range detailed {
		p, err := open(ctx, c, name)
		if err != nil {
			return nil, err
		}
		data = append(data, p.describe())
		by := make([]*counts, len(learners))
		for k, learner := range learners {
			if by[k], err = counted(ctx, c, name, name, learner); err != nil {
				return nil, err
			}
			curve := by[k].curve()
			curve.Name, curve.Colour, curve.Dashes = learner+", "+name, report.Colours[k], dashes[i]
			plot.Curves = append(plot.Curves, curve)
		}
		addPrecisions(&g, name, by)
	}
	r.Grids, r.Figures, r.Data = []report.Grid{g}, plot.Curves, strings.Join(data, "; ")
	return r, c.Plot(r, "eval-fig4.svg", &plot)
}

// curve is precision by recall, up to the d at which nothing is missing.
func (c *counts) curve() report.Curve {
	k := report.Curve{Dots: true}
	for d := range c.reaching(1, truth{}) + 1 {
		f := c.within(d, truth{})
		k.X, k.Y = append(k.X, f.recall()), append(k.Y, f.precision())
	}
	return k
}

// addPrecisions has the precision where each learner reaches a recall.
func addPrecisions(g *report.Grid, name string, by []*counts) {
	for _, level := range levels {
		row := []any{name, level.name}
		for _, c := range by {
			row = append(row, units.Three(c.within(c.reaching(level.recall, truth{}), truth{}).precision()))
		}
		g.Add(row...)
	}
}

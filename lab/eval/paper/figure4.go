package paper

import (
	"context"
	"strings"

	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
)

// Figure4 draws precision by recall as d grows, a plot for each corpus.
func Figure4(ctx context.Context, c *eval.Config) (*report.Report, error) {
	r := c.Report("fig4", "Precision by recall, a point for each d from 0 on: the paper's Figure 4. m = 32, l = 2, "+
		"cosine >= 0.8, without self-matches.", "")
	g := report.Grid{Head: append([]string{"corpus", "recall"}, learners...)}
	var plots report.Plots
	var curves []report.Curve
	var data []string
	for _, name := range corpora {
		p, err := open(ctx, c, name)
		if err != nil {
			return nil, err
		}
		data = append(data, p.describe())
		by := make([]*counts, len(learners))
		plot := report.Plot{Title: name, X: report.Axis{Title: "recall, d = 0, 1, …", From: 0, To: 1},
			Y: report.Axis{Title: "precision", Log: true}}
		for k, learner := range learners {
			if by[k], err = counted(ctx, c, name, name, learner); err != nil {
				return nil, err
			}
			curve := by[k].curve()
			curve.Name, curve.Colour = learner, report.Colours[k]
			plot.Curves = append(plot.Curves, curve)
			curve.Name += ", " + name
			curves = append(curves, curve)
		}
		plots = append(plots, plot)
		marks, err := hashedMarks(ctx, c, name)
		if err != nil {
			return nil, err
		}
		addPrecisions(&g, name, by, marks)
	}
	r.Grids, r.Figures, r.Data = []report.Grid{g}, curves, strings.Join(data, "; ")
	r.Note(hashedNote)
	return r, c.Plot(r, "eval-fig4.svg", plots)
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
func addPrecisions(g *report.Grid, name string, by []*counts, marks []string) {
	for _, level := range levels {
		row := []any{name, level.name}
		for k, c := range by {
			row = append(row, units.Three(c.within(c.reaching(level.recall, truth{}), truth{}).precision())+marks[k])
		}
		g.Add(row...)
	}
}

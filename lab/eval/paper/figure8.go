package paper

import (
	"context"
	"fmt"

	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
)

// paperDistance is the d of the paper's Figure 8.
const paperDistance = 3

// Figure8 draws what verification takes by the size of the collection.
func Figure8(ctx context.Context, c *eval.Config) (*report.Report, error) {
	r := c.Report("fig8", "Post-processing by the size of the collection, d = 3: seconds, one thread, to look at "+
		"the candidates of 2,000 queries; the paper's Figure 8. m = 32, l = 2.", "")
	plot := report.Plot{Title: "post-processing by collection size, d = 3", X: report.Axis{Title: "sentences", Log: true},
		Y: report.Axis{Title: "seconds for 2,000 queries", Log: true}}
	all, err := timings(ctx, c, r, &plot, verifiedBySize, func(v Verified) float64 { return float64(v.Sentences) },
		func(name string, by [][]Verified) {
			r.Grids = append(r.Grids, sizeGrid(name, by))
		})
	if err != nil {
		return nil, err
	}
	r.Figures = all
	r.Note("The quickest of %d passes counts. At one d each learner finds another share of what is similar: see Table 3.",
		passes)
	return r, c.Plot(r, "eval-fig8.svg", &plot)
}

// verifiedBySize measures ten sizes.
func verifiedBySize(ctx context.Context, c *eval.Config, name, learner string) (list []Verified, err error) {
	t, err := tableOf(ctx, c, name, learner)
	if err != nil {
		return nil, err
	}
	for tenth := 1; tenth <= 10; tenth++ {
		v, err := t.first(len(t.order)*tenth/10).verify(ctx, paperDistance)
		if err != nil {
			return nil, err
		}
		v.Learner = learner
		list = append(list, v)
	}
	return list, nil
}

func sizeGrid(name string, by [][]Verified) report.Grid {
	g := report.Grid{Caption: fmt.Sprintf("**%s**: seconds (candidates a sentence)", name),
		Head: append([]string{"sentences"}, learners...)}
	for i := range by[0] {
		row := []any{units.Thousands(by[0][i].Sentences)}
		for _, list := range by {
			row = append(row, fmt.Sprintf("%s (%s)", units.Three(list[i].Seconds), units.Three(list[i].Candidates)))
		}
		g.Add(row...)
	}
	return g
}

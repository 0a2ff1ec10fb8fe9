package lossless

import (
	"context"
	"fmt"
	"slices"

	"refrain/hashcodes"
	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
	"refrain/text"
)

// GridFigure is one cell.
type GridFigure struct {
	Corpus     string `json:"corpus"`
	Measure    string `json:"measure"`
	Threshold  string `json:"threshold"`
	Codes      string `json:"codes"` // learner, bits and ones
	Queries    int    `json:"queries"`
	Candidates int    `json:"candidates"` // of all queries, similar sets included
	Similar    int    `json:"similar"`
}

// DefaultGrid is the table's.
func DefaultGrid() Options {
	return Options{
		Corpora: []string{"ira", "weibo", "reuters"}, Bits: []int{32, 64, 128}, Ones: []int{1, 2, 4},
		Thresholds: []string{"0.5", "0.6", "0.7", "0.8", "0.9"},
	}
}

// Grid counts candidates under the lossless radius by length of the signature, ones, threshold and measure.
func Grid(ctx context.Context, c *eval.Config, o Options) (*report.Report, error) {
	o = o.sorted()
	list, err := o.ParseThresholds()
	if err != nil {
		return nil, err
	}
	r := c.Report("grid", "Candidates a query under the lossless radius, similar sentences included, by m, l, "+
		"threshold and measure.", "")
	var all []GridFigure
	var corpora []*halves
	for _, name := range o.Corpora {
		h, err := readHalves(ctx, c, name, sizesOf(c).queries)
		if err != nil {
			return nil, err
		}
		g := grid{Config: c, Options: &o, halves: h, table: newTable(h.later, workers()), trainer: h.trainer(c), thresholds: list}
		grids, err := g.run(ctx)
		if err != nil {
			return nil, err
		}
		r.Grids, all = append(r.Grids, grids...), append(all, g.figures...)
		corpora = append(corpora, h)
	}
	r.Data, r.Figures = joinNames(corpora), all
	r.Note("%s queries among the distinct later sentences of each corpus, the query itself left out; `similar` is "+
		"what the definition asks for, found by a join without signatures: below it no codes can go",
		units.Thousands(sizesOf(c).queries))
	r.Note("cosine on sets: |x ∩ y| / sqrt(n n'), radius l (n + n' − 2 ceil(θ sqrt(n n'))), sizes θ² n to n / θ²; " +
		"the same threshold asks for less than Jaccard does: cosine 0.8 is Jaccard 0.67 for sets of one size")
	r.Note("direct: models of table `later` (learned for Jaccard, l 1): that for 0.6 up to θ 0.6 and that for 0.8 above")
	return r, nil
}

// grid is the table of one corpus.
type grid struct {
	*eval.Config
	*Options
	*halves
	*table
	*trainer
	thresholds []text.Threshold
	figures    []GridFigure
}

func (g *grid) run(ctx context.Context) (grids []report.Grid, err error) {
	for _, measure := range []text.Similarity{text.Jaccard, text.Cosine} {
		out := report.Grid{Caption: fmt.Sprintf("**%s, %s**: %s sentences", g.name, nameOf(measure),
			units.Thousands(len(g.later))), Head: []string{"codes", "m", "l"}}
		for _, t := range g.thresholds {
			out.Head = append(out.Head, "θ "+decimal(t))
		}
		similar, equal := make([]int, len(g.thresholds)), 0
		row := []any{"similar", "", ""}
		for i, t := range g.thresholds {
			g.Now("%s, %v: matches", g.name, measure.At(t))
			if similar[i], equal, err = g.matches(ctx, measure.At(t), g.queries); err != nil {
				return nil, err
			}
			row = append(row, units.Three(float64(similar[i])/float64(len(g.queries))))
		}
		out.Add(row...)
		if err := g.rows(ctx, measure, &out, similar, equal); err != nil {
			return nil, err
		}
		grids = append(grids, out)
		g.Logf("%s, %s: done", g.name, nameOf(measure))
	}
	return grids, nil
}

// rows adds a row for each kind of codes.
func (g *grid) rows(ctx context.Context, measure text.Similarity, out *report.Grid, similar []int,
	equal int) error {
	for _, bits := range g.Bits {
		for _, ones := range g.Ones {
			for _, learner := range []string{"md5", "direct"} {
				if learner == "direct" && (ones > 1 || bits > 32) { // which table later shows
					continue
				}
				if err := g.row(ctx, measure, out, learner, bits, ones, similar, equal); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (g *grid) row(ctx context.Context, measure text.Similarity, out *report.Grid, learner string, bits,
	ones int, similar []int, equal int) error {
	row := []any{learner, bits, ones}
	var signed *hashcodes.Model
	for i, t := range g.thresholds {
		m, err := g.learned(ctx, learner, bits, ones, t)
		if err != nil {
			return err
		}
		if m != signed {
			g.Now("%s: signatures of %s", g.name, m.Name())
			g.sign(m)
			signed = m
		}
		found, err := g.within(ctx, measure.At(t), m, g.queries)
		if err != nil {
			return err
		}
		n := found.within - equal
		if n < similar[i] {
			return fmt.Errorf("%s, %v, %s: %d candidates, but %d sets are similar: the radius loses some", g.name, measure.At(t),
				m.Name(), n, similar[i])
		}
		g.figures = append(g.figures, GridFigure{g.name, nameOf(measure), decimal(t), m.Name(), len(g.queries), n, similar[i]})
		row = append(row, units.Three(float64(n)/float64(len(g.queries))))
	}
	out.Add(row...)
	return nil
}

// learned is the model for a threshold: of learned ones there are two, and between thresholds the nearer one does.
func (g *grid) learned(ctx context.Context, learner string, bits, ones int, t text.Threshold) (*hashcodes.Model, error) {
	size := sizesOf(g.Config)
	if learner == "md5" {
		m, err := g.model(ctx, size.spec(g.Config, g.name, learner, bits, ones, text.Threshold{}))
		return m.Model, err
	}
	models, err := g.models(ctx, size.spec(g.Config, g.name, learner, bits, 0, nearest(t)), laterOnes)
	if err != nil {
		return nil, err
	}
	return models[slices.Index(laterOnes, ones)].Model, nil
}

// nearest is the threshold for which there is a model.
func nearest(t text.Threshold) text.Threshold {
	if 10*t.Num <= 6*t.Den {
		return text.Threshold{Num: 3, Den: 5}
	}
	return text.Threshold{Num: 4, Den: 5}
}

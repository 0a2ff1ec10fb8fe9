package joins

import (
	"context"
	"fmt"

	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
	"refrain/text"
)

// measures are those of the paper's figures.
var measures = []text.Similarity{text.Jaccard, text.Cosine}

// thresholds are the paper's; lower is one that short posts are joined at too.
var (
	thresholds = []text.Threshold{{Num: 19, Den: 20}, {Num: 9, Den: 10}, {Num: 17, Den: 20}, {Num: 4, Den: 5}}
	lower      = text.Threshold{Num: 3, Den: 5}
)

// Thresholds measures candidates and time by threshold: the paper's Table 1 and parts a to i of its Figure 3.
func Thresholds(ctx context.Context, c *eval.Config) (*report.Report, error) {
	r := c.Report("ppjoin", "Candidates and processor time of exact joins by threshold t: Table 1 and Figure 3 (a-i) "+
		"of Xiao et al., WWW 2008.", "")
	all := func(source) []text.Similarity { return measures }
	err := eachGrid(ctx, c, r, "t", all, func(g *report.Grid, of *records, similarity text.Similarity) (all []Run, err error) {
		for _, t := range of.thresholds() {
			found, err := compare(ctx, c, of, 1, similarity.At(t))
			if err != nil {
				return nil, err
			}
			addRuns(g, fmt.Sprintf("%.2f", t.Float()), found)
			all = append(all, found...)
		}
		return all, nil
	})
	if err != nil {
		return nil, err
	}
	r.Grids = append(r.Grids, publishedCandidates(), publishedSpeed())
	noteRuns(r)
	return r, nil
}

// eachGrid adds a grid for every source and each of its measures, which fill fills.
func eachGrid(ctx context.Context, c *eval.Config, r *report.Report, first string, measuresOf func(source) []text.Similarity,
	fill func(*report.Grid, *records, text.Similarity) ([]Run, error)) error {
	var all []Run
	for _, s := range sources {
		records, err := read(ctx, c, s)
		if err != nil {
			return err
		}
		addData(r, records)
		for _, similarity := range measuresOf(s) {
			g := report.Grid{Caption: fmt.Sprintf("**%s**, %s", s, similarity), Head: figureHead(first)}
			runs, err := fill(&g, records, similarity)
			if err != nil {
				return err
			}
			r.Grids, all = append(r.Grids, g), append(all, runs...)
			c.Logf("%s: %s, %s is done", r.Name, s, similarity)
		}
	}
	r.Figures = all
	return nil
}

// figureHead is of the tables that compare all algorithms.
func figureHead(first string) []string {
	return []string{first, "pairs", "candidates: allpairs", "ppjoin", "ppjoin+", "ours",
		"seconds: allpairs", "ppjoin", "ppjoin+", "ours", "allpairs / ppjoin", "allpairs / ppjoin+", "ppjoin / ours", "at most"}
}

// addRuns adds a row with what all algorithms did.
func addRuns(g *report.Grid, first string, found []Run) {
	row := []any{first, units.Thousands(found[0].Stats.Pairs)}
	for _, one := range found {
		row = append(row, units.Thousands(one.Stats.Candidates))
	}
	for _, one := range found {
		row = append(row, units.Three(one.Seconds))
	}
	all, pp, plus, ours := found[0].Seconds, found[1].Seconds, found[2].Seconds, found[3].Seconds
	g.Add(append(row, times(all, pp), times(all, plus), times(pp, ours), times(pp, found[3].Stats.Prepare.Seconds()))...)
}

// times is how often b goes into a.
func times(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f x", a/b)
}

// addData says what was read.
func addData(r *report.Report, of *records) {
	if r.Data != "" {
		r.Data += "; "
	}
	r.Data += of.String()
}

func noteRuns(r *report.Report) {
	r.Note("one goroutine, in turns; seconds are of the processor, from the collection to the last pair, the least of "+
		"%d turns, or of fewer where they take more than %d s together", turns, longSeconds)
	r.Note("candidates are pairs whose tokens are compared: of allpairs those that share a token of their prefixes " +
		"and fit in size, of ppjoin those of them that the positional filter leaves, of ppjoin+ those that the suffix " +
		"filter leaves too (depth 2), of ours those whose signatures and positions, or counts, allow for enough common " +
		"tokens")
	r.Note("at most: ppjoin's time divided by what ours takes to put sets and tokens in order, before it looks for a pair: " +
		"what an algorithm could gain that looks in no time")
	r.Note("all algorithms find the same pairs, and none of the paper's has fewer candidates than the next, or this " +
		"is an error")
}

// shares are of the records, as the paper scales its data.
var shares = []float64{.2, .4, .6, .8, 1}

// Growth measures the same by how much data there is: the paper's Figure 1 and parts j to l of its Figure 3.
func Growth(ctx context.Context, c *eval.Config) (*report.Report, error) {
	r := c.Report("ppjoin-growth", "Candidates and processor time by the share of the records, t = 0.8: Figure 1 and "+
		"Figure 3 (j-l) of Xiao et al., WWW 2008.", "")
	err := eachGrid(ctx, c, r, "records", source.growing, func(g *report.Grid, of *records, similarity text.Similarity) (all []Run, err error) {
		var by [][]Run
		for _, share := range shares {
			found, err := compare(ctx, c, of, share, similarity.At(text.Threshold{Num: 4, Den: 5}))
			if err != nil {
				return nil, err
			}
			addRuns(g, fmt.Sprintf("%.0f %%", 100*share), found)
			by, all = append(by, found), append(all, found...)
		}
		addGrowth(g, by)
		return all, nil
	})
	if err != nil {
		return nil, err
	}
	noteRuns(r)
	r.Note("growth: at 100 %% against 20 %%; what grows with the square of the data grows 25 fold. The paper's " +
		"Figure 1 shows the square root of All-Pairs' candidates on a straight line")
	return r, nil
}

// addGrowth adds how much more there is in the last row than in the first.
func addGrowth(g *report.Grid, by [][]Run) {
	first, last := by[0], by[len(by)-1]
	row := []any{"growth", times(float64(last[0].Stats.Pairs), float64(first[0].Stats.Pairs))}
	for i := range last {
		row = append(row, times(float64(last[i].Stats.Candidates), float64(first[i].Stats.Candidates)))
	}
	for i := range last {
		row = append(row, times(last[i].Seconds, first[i].Seconds))
	}
	g.Add(append(row, "", "", "", "")...)
}

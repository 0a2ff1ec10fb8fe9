package joins

import (
	"context"
	"fmt"

	"refrain/internal/units"
	"refrain/join"
	tokens "refrain/join/units"
	"refrain/lab/eval"
	"refrain/lab/report"
	"refrain/text"
)

// samples are of 32 shingles, as in the paper, which does not say how many words a shingle has.
var samples = []string{"minwise:4,32", "minwise:8,32"}

// SampleFigure is what samples of shingles find at a threshold of what 4-grams do.
type SampleFigure struct {
	Threshold string  `json:"threshold"`
	Units     string  `json:"units"`
	Pairs     int     `json:"pairs"`
	True      int     `json:"true"`  // pairs by 4-grams
	Found     int     `json:"found"` // of these
	Seconds   float64 `json:"seconds"`
}

// Shingles measures what samples of shingles find of the pairs of documents that are similar by their 4-grams, and in
// what time: section 7.5 of the paper.
func Shingles(ctx context.Context, c *eval.Config) (*report.Report, error) {
	documents, err := distinctTexts(ctx, c, "20ng", "qgrams:4")
	if err != nil {
		return nil, err
	}
	r := c.Report("shingles", "Near-duplicate documents by samples of 32 min-wise shingles against those by 4-grams, "+
		"Jaccard: section 7.5 of Xiao et al., WWW 2008.",
		fmt.Sprintf("20ng: %s documents, those apart that are equal by their 4-grams", units.Thousands(len(documents))))
	sets, err := collections(documents, append([]string{"qgrams:4"}, samples...))
	if err != nil {
		return nil, err
	}
	g := report.Grid{Head: []string{"t", "pairs by 4-grams", "seconds: ppjoin+", "allpairs", "ours",
		"shingles of 4 words: P", "R", "seconds, ppjoin+", "of 8 words: P", "R", "seconds", "the paper's P", "R"}}
	var all []SampleFigure
	for _, t := range thresholds {
		figures, err := sampleRow(ctx, c, &g, sets, t)
		if err != nil {
			return nil, err
		}
		all = append(all, figures...)
	}
	r.Grids, r.Figures = []report.Grid{g}, all
	r.Note("P, R: of the pairs whose samples reach t, the share whose 4-grams do; of those whose 4-grams do, the " +
		"share that is found")
	r.Note("4-grams are of characters, numbered where they repeat. The paper's documents are web pages (TREC); of " +
		"its thresholds in between the figures are not at hand")
	return r, nil
}

// distinctTexts are the texts of a corpus that are distinct by some units.
func distinctTexts(ctx context.Context, c *eval.Config, corpus, unit string) (texts []string, err error) {
	u, err := tokens.Parse(unit)
	if err != nil {
		return nil, err
	}
	cutter, known := tokens.NewCutter(u), seen{}
	err = eachText(ctx, c.Data, corpus, eval.Size(c, 0, quickPosts), func(text string) {
		if known.add(numbered(cutter.Append(nil, text))) {
			texts = append(texts, text)
		}
	})
	return texts, err
}

// collections are the sets of some texts by several units.
func collections(texts []string, all []string) (map[string]*join.Collection, error) {
	sets := map[string]*join.Collection{}
	for _, unit := range all {
		u, err := tokens.Parse(unit)
		if err != nil {
			return nil, err
		}
		cutter, c := tokens.NewCutter(u), &join.Collection{}
		for _, text := range texts {
			if err := c.Add(numbered(cutter.Append(nil, text))); err != nil {
				return nil, err
			}
		}
		sets[unit] = c
	}
	return sets, nil
}

// sampleRow joins by 4-grams and by each sample.
func sampleRow(ctx context.Context, c *eval.Config, g *report.Grid, sets map[string]*join.Collection,
	t text.Threshold) (figures []SampleFigure, err error) {
	name := fmt.Sprintf("%.2f", t.Float())
	truth := map[[2]int]bool{}
	row := []any{name, ""}
	for _, a := range []join.Algorithm{join.PPJoinPlus, join.AllPairs, join.Ours} {
		c.Now("t %s: 4-grams, %s", name, a)
		one, err := runOnce(ctx, sets["qgrams:4"], text.Jaccard.At(t), a,
			func(p join.Pair) { truth[[2]int{p.A, p.B}] = true })
		if err != nil {
			return nil, err
		}
		row = append(row, units.Three(one.Seconds))
	}
	row[1] = units.Thousands(len(truth))
	for _, sample := range samples {
		f := SampleFigure{Threshold: name, Units: sample, True: len(truth)}
		one, err := runOnce(ctx, sets[sample], text.Jaccard.At(t), join.PPJoinPlus, func(p join.Pair) {
			f.Pairs++
			if truth[[2]int{p.A, p.B}] {
				f.Found++
			}
		})
		if err != nil {
			return nil, err
		}
		f.Seconds = one.Seconds
		figures = append(figures, f)
		row = append(row, share(f.Found, f.Pairs), share(f.Found, f.True), units.Three(f.Seconds))
	}
	theirs := publishedSample[name]
	g.Add(append(row, theirs[0], theirs[1])...)
	return figures, nil
}

// share is a part of a whole, to three digits.
func share(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", float64(part)/float64(whole))
}

package paper

import (
	"context"
	"fmt"

	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
)

// Table4 compares codes learned from the corpus itself with those of another of the same language.
func Table4(ctx context.Context, c *eval.Config) (*report.Report, error) {
	r := c.Report("table4", "Candidates a sentence at recall 1.00 with codes learned from the corpus itself and "+
		"from another of its language: the paper's Table 4. m = 32, l = 2, cosine >= 0.8, self-matches counted.",
		"as in Table 3")
	g := report.Grid{Head: []string{"corpus", "md5", "opt", "opt of another", "direct", "direct of another", "the other",
		"gain kept, opt", "direct"}}
	var all []Level
	for _, name := range corpora {
		var by []Level
		for _, learner := range []string{"md5", "opt", "direct"} {
			for _, from := range []string{name, otherCorpus[name]} {
				if learner == "md5" && from != name {
					continue
				}
				n, err := counted(ctx, c, name, from, learner)
				if err != nil {
					return nil, err
				}
				by = append(by, n.level(name, from, learner, 0.995, truth{self: true}))
			}
		}
		all = append(all, by...)
		row := []any{name}
		for _, l := range by {
			row = append(row, fmt.Sprintf("%s (%d)", units.Three(l.Candidates), l.Distance))
		}
		g.Add(append(row, otherCorpus[name], savedShare(by[0], by[1], by[2]), savedShare(by[0], by[3], by[4]))...)
		c.Logf("table4: %s is done", name)
	}
	theirs := report.Grid{Caption: "**The paper's**, the other corpus being Web n-grams",
		Head: []string{"corpus", "md5", "opt", "opt of another", "gain kept"}}
	for _, p := range table3 {
		by := p.candidates[1]
		theirs.Add(p.corpus, units.Three(by[0]), units.Three(by[2]), units.Three(p.outOfDomain),
			savedShare(Level{Candidates: by[0]}, Level{Candidates: by[2]}, Level{Candidates: p.outOfDomain}))
	}
	r.Grids, r.Figures = []report.Grid{g, theirs}, all
	r.Note("Gain kept: of the candidates that codes of the corpus itself save, the share that the other's save too.")
	return r, nil
}

// savedShare is the share of what own codes save that the other corpus's save too.
func savedShare(md5, own, other Level) string {
	saved := md5.Candidates - own.Candidates
	if saved <= 0.02*md5.Candidates {
		return "nothing to keep"
	}
	return fmt.Sprintf("%.0f %%", 100*(md5.Candidates-other.Candidates)/saved)
}

package paper

import (
	"context"
	"fmt"

	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
)

// Table4 compares codes learned from the corpus itself with those of another of the same language, learned from its sentences
// and, as in the paper, from its 5-grams.
func Table4(ctx context.Context, c *eval.Config) (*report.Report, error) {
	r := c.Report("table4", "Candidates a sentence at recall 1.00 with codes learned from the corpus itself, from "+
		"another of its language, and from the 5-grams of that one, each taken as a sentence: the paper's Table 4. m = 32, "+
		"l = 2, cosine >= 0.8, self-matches counted.", "as in Table 3")
	g := report.Grid{Head: []string{"corpus", "the other", "md5", "opt", "opt of the other", "opt of its 5-grams", "gain kept",
		"by 5-grams", "direct", "direct of the other", "gain kept"}}
	var all []Level
	for _, name := range corpora {
		by, err := foreignLevels(ctx, c, name)
		if err != nil {
			return nil, err
		}
		all = append(all, by...)
		md5, opt, other, grams, direct, directOther := &by[0], &by[1], &by[2], &by[3], &by[4], &by[5]
		g.Add(name, otherCorpus[name], md5.cell(), opt.cell(), other.cell(), grams.cell(), savedShare(md5, opt, other),
			savedShare(md5, opt, grams), direct.cell(), directOther.cell(), savedShare(md5, direct, directOther))
		c.Logf("table4: %s is done", name)
	}
	r.Grids, r.Figures = []report.Grid{g, publishedForeign()}, all
	r.Note("Gain kept: of the candidates that codes of the corpus itself save, the share that the other's save too.")
	r.Note("5-grams: every five words (in Chinese: characters) in a row of a sentence, up to 300,000 distinct ones, each " +
		"counting as often as it occurs. The paper's are of the whole web, from a list that leaves out rare ones.")
	return r, gramNotes(ctx, c, r)
}

// foreignLevels are what it costs to reach a recall of 1.00, in the order of the columns.
func foreignLevels(ctx context.Context, c *eval.Config, name string) (by []Level, err error) {
	other := otherCorpus[name]
	for _, codes := range []struct {
		learner, from string
		grams         bool
	}{{"md5", name, false}, {"opt", name, false}, {"opt", other, false}, {"opt", other, true}, {"direct", name, false},
		{"direct", other, false}} {
		count, learn, from := counted, model, codes.from
		if codes.grams {
			count, learn, from = countedGrams, gramModel, codes.from+", 5-grams"
		}
		n, err := count(ctx, c, name, codes.from, codes.learner)
		if err != nil {
			return nil, err
		}
		l, err := learn(ctx, c, codes.from, codes.learner)
		if err != nil {
			return nil, err
		}
		level := n.level(name, from, codes.learner, 0.995, truth{self: true})
		level.Hashed = l.mark() != ""
		by = append(by, level)
	}
	return by, nil
}

// publishedForeign is the paper's own Table 4.
func publishedForeign() report.Grid {
	theirs := report.Grid{Caption: "**The paper's**, the other corpus being Web n-grams",
		Head: []string{"corpus", "md5", "opt", "opt of another", "gain kept"}}
	for _, p := range table3 {
		by := p.candidates[1]
		theirs.Add(p.corpus, units.Three(by[0]), units.Three(by[2]), units.Three(p.outOfDomain),
			savedShare(&Level{Candidates: by[0]}, &Level{Candidates: by[2]}, &Level{Candidates: p.outOfDomain}))
	}
	return theirs
}

// gramNotes say what the codes of 5-grams are.
func gramNotes(ctx context.Context, c *eval.Config, r *report.Report) error {
	for _, name := range []string{"20ng", "reuters", "hot", "weibo"} {
		l, err := gramModel(ctx, c, name, "opt")
		if err != nil {
			return err
		}
		r.Note("5-grams of %s: %s.", name, l.describe())
	}
	r.Note(hashedNote)
	return nil
}

// savedShare is the share of what own codes save that the other corpus's save too.
func savedShare(md5, own, other *Level) string {
	saved := md5.Candidates - own.Candidates
	if saved <= 0.02*md5.Candidates {
		return "nothing to keep"
	}
	return fmt.Sprintf("%.0f %%", 100*(md5.Candidates-other.Candidates)/saved)
}

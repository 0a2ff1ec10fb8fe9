package paper

import (
	"context"

	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/eval/corpus"
	"refrain/lab/report"
)

// CorpusFigure is a corpus in numbers.
type CorpusFigure struct {
	Name       string  `json:"name"`
	Sentences  int     `json:"sentences"`
	Distinct   int     `json:"distinct"`   // token sets
	Units      float64 `json:"units"`      // a sentence: distinct words, or characters
	Vocabulary int     `json:"vocabulary"` // distinct units
}

// Table1 says what is in the corpora.
func Table1(ctx context.Context, c *eval.Config) (*report.Report, error) {
	r := c.Report("table1", "The corpora: sentences of 4 units or more, words and, in Chinese, characters.",
		"the files named, of the shared data set")
	g := report.Grid{Head: []string{"corpus", "file", "language", "what", "sentences", "distinct",
		"distinct units a sentence", "vocabulary"}}
	var all []CorpusFigure
	for _, about := range corpus.All {
		c.Now("reading %s", about.Name)
		f, err := describe(ctx, c, about)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
		g.Add(about.Name, "`"+about.File+"`", about.Language, about.Kind, units.Thousands(f.Sentences),
			units.Thousands(f.Distinct),
			units.Three(f.Units), units.Thousands(f.Vocabulary))
	}
	r.Grids, r.Figures = []report.Grid{g}, all
	r.Note("A sentence is its set of units: two with the same are not distinct. The paper's Table 1 has the same " +
		"columns for TIPSTER, Twitter, ClueWeb09, Zhidao, Weibo and SogouT, of which we have none.")
	return r, nil
}

func describe(ctx context.Context, c *eval.Config, about corpus.Corpus) (CorpusFigure, error) {
	s, err := c.Read(ctx, about.Name)
	if err != nil {
		return CorpusFigure{}, err
	}
	units, vocabulary := 0, map[uint64]bool{}
	for _, g := range s.Groups {
		units += len(s.Sets[g])
	}
	for _, set := range s.Sets {
		for _, token := range set {
			vocabulary[token] = true
		}
	}
	return CorpusFigure{about.Name, s.Len(), len(s.Sets), float64(units) / float64(max(1, s.Len())), len(vocabulary)}, nil
}

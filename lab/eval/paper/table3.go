package paper

import (
	"context"
	"fmt"
	"strings"

	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
)

// levels of recall: all but one similar sentence in so many. The paper's 1.00 is rounded, hence 0.995.
var levels = []struct {
	recall float64
	name   string
}{{0.75, ".75"}, {0.9, ".90"}, {0.99, ".99"}, {0.995, "1.00"}, {1, "all"}}

// Level is what it costs to reach a recall.
type Level struct {
	Corpus     string  `json:"corpus"`
	Learner    string  `json:"learner"`
	From       string  `json:"from"`
	Wanted     float64 `json:"wanted"`
	Self       bool    `json:"self"`
	Distance   int     `json:"d"` // the least that reaches it
	Recall     float64 `json:"recall"`
	Candidates float64 `json:"candidates"` // a query
	Truth      float64 `json:"truth"`      // similar sentences a query
	Hashed     bool    `json:"hashed"`     // the codes are md5's own by construction

	Sentences int `json:"sentences"` // of the collection
}

// cell is the candidates with d, marked where the codes say nothing of the learner.
func (l *Level) cell() string {
	s := fmt.Sprintf("%s (%d)", units.Three(l.Candidates), l.Distance)
	if l.Hashed {
		s += "†"
	}
	return s
}

// inAMillion is the candidates of a query, itself among them, if the collection had a million sentences.
func (l *Level) inAMillion() float64 {
	if l.Self {
		return 1 + inAMillion(l.Candidates-1, l.Sentences)
	}
	return inAMillion(l.Candidates, l.Sentences)
}

func (c *counts) level(name, from, learner string, recall float64, t truth) Level {
	d := c.reaching(recall, t)
	f, n := c.within(d, t), float64(max(1, c.queries))
	return Level{
		Corpus: name, Learner: learner, From: from, Wanted: recall, Self: t.self, Distance: d, Recall: f.recall(),
		Candidates: float64(f.candidates) / n, Truth: float64(f.all) / n,
	}
}

// Table3 gives the candidates of a sentence by recall.
func Table3(ctx context.Context, c *eval.Config) (*report.Report, error) {
	r := c.Report("table3", "Candidates a sentence at a recall, and (in brackets) the least d that reaches it: the "+
		"paper's Table 3. m = 32, l = 2, cosine >= 0.8.", "")
	with := levelGrid("self-matches counted, as in the paper, it seems")
	without, scaled := levelGrid("without self-matches"), scaledLevelGrid()
	var all []Level
	var data []string
	for _, name := range corpora {
		p, err := open(ctx, c, name)
		if err != nil {
			return nil, err
		}
		data = append(data, p.describe())
		for _, self := range []bool{true, false} {
			rows, err := levelsOf(ctx, c, name, truth{self: self})
			if err != nil {
				return nil, err
			}
			all = append(all, rows...)
			if self {
				addLevels(&with, rows)
				addScaledLevels(&scaled, rows)
			} else {
				addLevels(&without, rows)
			}
		}
		c.Logf("table3: %s is done", name)
	}
	addPublished(&scaled)
	r.Grids, r.Figures, r.Data = []report.Grid{with, without, scaled}, all, strings.Join(data, "; ")
	r.Note("\"1.00\" is a recall of 0.995 and more, as the paper rounds; \"all\" is every similar sentence of all queries.")
	if err := learningNotes(ctx, c, r, corpora); err != nil {
		return nil, err
	}
	return r, nil
}

// levelsOf are the levels of a corpus, those of one level by learner side by side.
func levelsOf(ctx context.Context, c *eval.Config, name string, t truth) (rows []Level, err error) {
	for _, level := range levels {
		for _, learner := range learners {
			n, err := counted(ctx, c, name, name, learner)
			if err != nil {
				return nil, err
			}
			l, err := model(ctx, c, name, learner)
			if err != nil {
				return nil, err
			}
			rows = append(rows, n.level(name, name, learner, level.recall, t))
			rows[len(rows)-1].Hashed = l.mark() != ""
		}
	}
	p, err := open(ctx, c, name)
	for i := range rows {
		rows[i].Sentences = p.sentences.Len()
	}
	return rows, err
}

func levelGrid(caption string) report.Grid {
	return report.Grid{Caption: "**Ours**, " + caption,
		Head: append(append([]string{"corpus", "recall", "similar"}, learners...), "md5 / opt", "md5 / direct")}
}

func addLevels(g *report.Grid, rows []Level) {
	for i := 0; i < len(rows); i += len(learners) {
		by := rows[i : i+len(learners)]
		row := []any{by[0].Corpus, levels[i/len(learners)].name, units.Three(by[0].Truth)}
		for _, l := range by {
			row = append(row, l.cell())
		}
		g.Add(append(row, units.Times(by[0].Candidates/by[2].Candidates), units.Times(by[0].Candidates/by[3].Candidates))...)
	}
}

// scaledLevelGrid is for candidates of collections of one size: ours scaled, and below them the paper's.
func scaledLevelGrid() report.Grid {
	return report.Grid{Caption: "**A million sentences**: ours with candidates scaled to as many, self-matches counted, and " +
		"the paper's",
		Head: []string{"corpus", "recall (d of md5)", "md5", "ner", "opt", "md5 / opt"}}
}

// addScaledLevels has the levels that the paper prints too, about .90 and 1.00.
func addScaledLevels(g *report.Grid, rows []Level) {
	for i := 0; i < len(rows); i += len(learners) {
		name := levels[i/len(learners)].name
		if name != ".90" && name != "1.00" {
			continue
		}
		by := rows[i : i+3]
		row := []any{by[0].Corpus, fmt.Sprintf("%s (%d)", name, by[0].Distance)}
		for _, l := range by {
			cell := Level{Candidates: l.inAMillion(), Distance: l.Distance, Hashed: l.Hashed}
			row = append(row, cell.cell())
		}
		g.Add(append(row, units.Times(by[0].inAMillion()/by[2].inAMillion()))...)
	}
}

// addPublished adds the paper's own Table 3.
func addPublished(g *report.Grid) {
	for _, p := range table3 {
		for i, by := range p.candidates {
			g.Add("the paper: "+p.corpus, p.recall[i], units.Three(by[0]), units.Three(by[1]), units.Three(by[2]),
				units.Times(by[0]/by[2]))
		}
	}
}

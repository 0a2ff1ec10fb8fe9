package paper

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
)

// Overlap is the share of the most frequent words of one corpus that are also the most frequent of another.
type Overlap struct {
	Target   string    `json:"target"`
	Training string    `json:"training"`
	Words    []int     `json:"words"`
	Share    []float64 `json:"share"`
}

// wordSteps are how many of the most frequent words are compared.
var wordSteps = []int{100, 200, 300, 500, 700, 1000, 1500, 2000, 2500, 3000}

// overlaps are the pairs of the figure: those of Table 4 and some more.
var overlaps = [][2]string{
	{"ira-en", "20ng"}, {"crisislex", "20ng"}, {"reuters", "20ng"}, {"ira-en", "crisislex"}, {"weibo", "hot"},
	{"weibo", "xwlb"}, {"hot", "xwlb"},
}

// Figure5 draws how many of the most frequent words two corpora have in common.
func Figure5(ctx context.Context, c *eval.Config) (*report.Report, error) {
	r := c.Report("fig5", "Of the n most frequent words of a corpus (in Chinese: characters), the share that are "+
		"among the n most frequent of another: the paper's Figure 5. The same either way round.", "as in Table 1")
	plot := report.Plot{Title: "overlap of frequent words",
		X: report.Axis{Title: "most frequent words", From: 0, To: learnWords},
		Y: report.Axis{Title: "share in both", From: 0, To: 1}}
	g := report.Grid{Head: []string{"corpus", "the other"}}
	for _, n := range wordSteps {
		g.Head = append(g.Head, units.Thousands(n))
	}
	var all []Overlap
	for _, pair := range overlaps {
		name := pair[0]
		o, err := overlap(ctx, c, name, pair[1])
		if err != nil {
			return nil, err
		}
		all = append(all, o)
		curve := report.Curve{Name: name + ", " + o.Training, Y: o.Share, Dots: true}
		row := []any{name, o.Training}
		for i, n := range o.Words {
			curve.X = append(curve.X, float64(n))
			row = append(row, fmt.Sprintf("%.2f", o.Share[i]))
		}
		plot.Curves = append(plot.Curves, curve)
		g.Add(row...)
	}
	r.Grids, r.Figures = []report.Grid{g}, all
	return r, c.Plot(r, "eval-fig5.svg", &plot)
}

func overlap(ctx context.Context, c *eval.Config, target, training string) (Overlap, error) {
	o := Overlap{Target: target, Training: training, Words: wordSteps}
	targetWords, err := frequent(ctx, c, target)
	if err != nil {
		return o, err
	}
	trainingWords, err := frequent(ctx, c, training)
	if err != nil {
		return o, err
	}
	for _, n := range o.Words {
		common := map[uint64]bool{}
		for _, w := range trainingWords[:min(n, len(trainingWords))] {
			common[w] = true
		}
		both := 0
		for _, w := range targetWords[:min(n, len(targetWords))] {
			if common[w] {
				both++
			}
		}
		o.Share = append(o.Share, share(both, min(n, len(targetWords))))
	}
	return o, nil
}

// frequent are the most frequent words of a corpus by the sentences that they are in, the most frequent first.
func frequent(ctx context.Context, c *eval.Config, name string) ([]uint64, error) {
	return eval.Once(c, "frequent "+name, func() ([]uint64, error) {
		s, err := c.Read(ctx, name)
		if err != nil {
			return nil, err
		}
		count := map[uint64]int{}
		for set := range s.All() {
			for _, token := range set {
				count[token]++
			}
		}
		words := make([]uint64, 0, len(count))
		for w := range count {
			words = append(words, w)
		}
		slices.SortFunc(words, func(a, b uint64) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
		return slices.Clone(words[:min(len(words), learnWords)]), nil
	})
}

package paper

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"refrain/hashcodes"
	"refrain/hashcodes/train"
	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
)

// lambdas of the table. 0 is the problem as the paper prints it.
var lambdas = []float64{0, 0.001, 0.01, 0.1, 0.3, 1, 3, 10}

// SolverFigure is what the solver said for one λ, and what the codes are worth.
type SolverFigure struct {
	train.Solved
	Set   float64 `json:"set"` // bits of a signature, of distinct sentences
	Found []Found `json:"found"`
	Level Level   `json:"level"` // at recall 1.00
}

// Solver shows how the paper's problem is solved, by the weight of the term that breaks its symmetry.
func Solver(ctx context.Context, c *eval.Config) (*report.Report, error) {
	const name = "reuters"
	p, err := open(ctx, c, name)
	if err != nil {
		return nil, err
	}
	r := c.Report("solver", "The learner opt by λ: the interior-point method on the paper's problem, and "+
		"candidates a sentence by d, self-matches counted (recall in brackets). m = 32, l = 2.", p.describe())
	solved := report.Grid{Head: []string{"λ", "Newton steps", "greatest KKT residual", "greatest \\|y − l/m\\|",
		"objective, relaxed", "rounded", "bits of a signature"}}
	by := report.Grid{Head: []string{"λ"}}
	for d := range maxDistance + 1 {
		by.Head = append(by.Head, fmt.Sprintf("d = %d", d))
	}
	by.Head = append(by.Head, "at recall 1.00 (d)")
	var all []SolverFigure
	for _, lambda := range append(eval.Size(c, lambdas, []float64{0, 1}), -1) {
		f, err := p.solverFigure(ctx, c, lambda)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
		label := fmt.Sprintf("%g", lambda)
		if lambda < 0 {
			label = "md5"
			solved.Add(label, "", "", "", "", "", units.Three(f.Set))
		} else {
			solved.Add(label, f.Iterations, fmt.Sprintf("%.1e", f.Residual), fmt.Sprintf("%.2g", f.Spread),
				objective(f.Objective), objective(f.Rounded), units.Three(f.Set))
		}
		row := []any{label}
		for _, x := range f.Found {
			row = append(row, fmt.Sprintf("%s (%.3f)", units.Three(float64(x.Candidates)/float64(x.Queries)), x.Truth[0].Recall))
		}
		by.Add(append(row, fmt.Sprintf("%s (%d)", units.Three(f.Level.Candidates), f.Level.Distance))...)
		c.Logf("solver: λ = %s is done", label)
	}
	r.Grids, r.Figures = []report.Grid{solved, by}, all
	return r, nil
}

// objective writes a value of the objective; what rounding leaves of 0 is 0.
func objective(v float64) string {
	if math.Abs(v) < 1e-6 {
		return "0"
	}
	return fmt.Sprintf("%.3g", v)
}

// solverFigure solves for one λ; below 0: the hashed codes.
func (p *collection) solverFigure(ctx context.Context, c *eval.Config, lambda float64) (f SolverFigure, err error) {
	t := train.Default()
	t.Learner, t.Lambdas = "opt", []float64{lambda}
	if lambda < 0 {
		t.Learner = "md5"
	}
	l, err := learn(ctx, c, p.name, fmt.Sprintf("paper λ=%g %s", lambda, p.name), t)
	if err != nil {
		return f, err
	}
	n, err := p.count(ctx, l.model)
	if err != nil {
		return f, err
	}
	if len(l.report.Solved) > 0 {
		f.Solved = l.report.Solved[0]
	}
	for d := range maxDistance + 1 {
		f.Found = append(f.Found, n.figure(p.name, p.name, t.Learner, d))
	}
	f.Set, f.Level = p.bitsSet(l.model), n.level(p.name, p.name, t.Learner, 0.995, truth{self: true})
	return f, nil
}

// bitsSet is the mean number of ones of a signature.
func (p *collection) bitsSet(m *hashcodes.Model) float64 {
	sum := 0
	sig := make(hashcodes.Signature, m.Words())
	for _, set := range p.sentences.Sets {
		for _, w := range m.Sign(sig, set) {
			sum += bits.OnesCount32(w)
		}
	}
	return float64(sum) / float64(max(1, len(p.sentences.Sets)))
}

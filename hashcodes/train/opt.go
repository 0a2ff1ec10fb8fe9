package train

import (
	"cmp"
	"slices"

	"refrain/hashcodes"
	"refrain/internal/units"
)

// Solved says how the learner opt ended for one λ.
type Solved struct {
	Lambda     float64 `json:"lambda"`
	Iterations int     `json:"iterations"` // Newton steps
	Residual   float64 `json:"residual"`   // of the KKT conditions with μ = 0, greatest component
	Objective  float64 `json:"objective"`  // Σ s_ij ‖y_i − y_j‖² of the relaxed codes
	Rounded    float64 `json:"rounded"`    // and of the codes made of them
	Spread     float64 `json:"spread"`     // greatest distance of a component of a relaxed code from l/m; 0: nothing to round
	Cost       float64 `json:"cost"`       // candidates of a query on the validation sets, by which λ is chosen; see choice
	Chosen     bool    `json:"chosen"`     // it did best on the validation sets
}

// opt is the learner of Zhang et al.: codes of exactly l ones, alike for tokens that are often in one sentence. Its
// problem alone says nothing, since one code for all tokens is optimal; see program for what breaks the tie. Of several
// λ the one that does best on the validation sets is taken; see choice.
func (l *learning) opt() (*hashcodes.Model, Cost, error) {
	md5, err := l.model(l.Ones, nil)
	if err != nil {
		return nil, Cost{}, err
	}
	s := l.newWeighted(md5)
	c, err := l.newChoice()
	if err != nil {
		return nil, Cost{}, err
	}
	for _, lambda := range l.Lambdas {
		m, solved, err := l.solve(s, lambda)
		if err != nil {
			return nil, Cost{}, err
		}
		solved.Cost = c.offer(m)
		l.logf("opt, λ = %g: %d steps to a residual of %.1e, %s candidates a query", lambda, solved.Iterations,
			solved.Residual, units.Three(solved.Cost))
		l.report.Solved = append(l.report.Solved, solved)
	}
	l.report.Solved[c.order].Chosen = true
	return c.chosen()
}

// solve solves the problem for one λ, and makes a model of its solution.
func (l *learning) solve(s *state, lambda float64) (*hashcodes.Model, Solved, error) {
	p := newProgram(s, l.Ones, lambda, l.Workers)
	solved, err := p.solve(l.ctx)
	if err != nil {
		return nil, solved, err
	}
	codes := slices.Clone(s.codes) // where the next λ starts
	defer copy(s.codes, codes)
	for i := range l.vocab {
		round(s.code(i), p.y[i*p.bits:(i+1)*p.bits], l.Ones)
	}
	m, err := l.model(l.Ones, s.entries())
	if err != nil {
		return nil, solved, err
	}
	solved.Rounded = p.objective(s.relaxed())
	return m, solved, nil
}

// round overwrites code with ones at the greatest components of y; of equals, the first.
func round(code []uint64, y []float64, ones int) {
	order := make([]int, len(y))
	for b := range order {
		order[b] = b
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(y[b], y[a]) })
	clear(code)
	for _, b := range order[:ones] {
		code[b/64] |= 1 << (b % 64)
	}
}

// relaxed are the codes as vectors of 0 and 1.
func (s *state) relaxed() []float64 {
	y := make([]float64, len(s.vocab)*s.bits)
	for i := range s.vocab {
		for _, b := range positions(s.code(i)) {
			y[i*s.bits+int(b)] = 1
		}
	}
	return y
}

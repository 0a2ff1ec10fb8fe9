package train

import (
	"context"
	"math"
)

// program is the problem of Zhang et al., equations (2) to (4), with a term that breaks its symmetry:
//
//	min  Σ_ij s_ij Σ_k (y_ik − y_jk)²  +  λ Σ_ik (y_ik − c_ik)²      c_i the hashed code of token i
//	with Σ_k y_ik = l  and  0 <= y <= 1
//
// Without the term (λ = 0) every common vector has the objective 0, and the barrier picks y_ik = l/m, which carries
// nothing to round. That is not a failure of a solver but the optimum of the problem as it is printed.
//
// It is solved by a primal-dual interior-point method. The barrier −μ Σ (ln y + ln(1 − y)) keeps y inside, and with
// L = diag(S 1) − S and z_L, z_U the multipliers of the bounds, a Newton step (dy, ν) solves
//
//	| 4 L⊗I + 2λ + Σ + δ   Aᵀ | | dy |      | 4 L y + 2λ (y − c) − μ/y + μ/(1−y) |
//	| A                    0  | | ν  |  = − | A y − l                            |     Σ = z_L/y + z_U/(1−y)
//
// by conjugate gradients in the null space of A (rows of Y that sum to 0), without a matrix. The start is feasible and
// steps keep it so; hence the filter of the method reduces to a test for sufficient decrease.
type program struct {
	tokens, bits int
	ones         float64
	lambda       float64
	workers      int

	neighbours lists     // token -> tokens it is in a sentence with
	weights    []float64 // s_ij, beside neighbours.items
	degree     []float64 // Σ_j s_ij

	c, y   []float64 // Y row by row: token i has y[i*bits : (i+1)*bits]
	zl, zu []float64
	nu     []float64 // multipliers of the sums, by token
	mu     float64

	gradient, step, image, r, z, p, diagonal []float64 // of a step
}

// Constants of the method. tolerance is of the greatest KKT residual.
const (
	tolerance    = 1e-4
	firstMu      = 0.1
	maxSteps     = 150
	regularise   = 1e-8 // δ
	inside       = 0.05 // how far the start is from the hashed codes towards the middle
	sufficient   = 1e-4 // of Armijo's test
	maxCGSteps   = 100
	cgReduction  = 1e-2
	stepBoundary = 0.99
)

func newProgram(s *state, ones int, lambda float64, workers int) *program {
	p := &program{tokens: len(s.vocab), bits: s.bits, ones: float64(ones), lambda: lambda, workers: workers, mu: firstMu}
	p.connect(s)
	n := p.tokens * p.bits
	for _, v := range []*[]float64{&p.y, &p.zl, &p.zu, &p.gradient, &p.step, &p.image, &p.r, &p.z, &p.p, &p.diagonal} {
		*v = make([]float64, n)
	}
	p.nu = make([]float64, p.tokens)
	p.c = s.relaxed()
	middle := p.ones / float64(p.bits)
	for i, c := range p.c {
		p.y[i] = c + inside*(middle-c)
		p.zl[i], p.zu[i] = p.mu/p.y[i], p.mu/(1-p.y[i])
	}
	return p
}

// connect fills neighbours, weights and degree.
func (p *program) connect(s *state) {
	p.neighbours.starts = make([]uint32, p.tokens+2)
	s.together(func(i, j int, _ uint32) {
		p.neighbours.starts[i+2]++
		p.neighbours.starts[j+2]++
	})
	for i := 2; i < len(p.neighbours.starts); i++ {
		p.neighbours.starts[i] += p.neighbours.starts[i-1]
	}
	n := p.neighbours.starts[p.tokens+1]
	p.neighbours.items, p.weights, p.degree = make([]uint32, n), make([]float64, n), make([]float64, p.tokens)
	put := func(i, j int, weight float64) {
		at := p.neighbours.starts[i+1]
		p.neighbours.items[at], p.weights[at] = uint32(j), weight
		p.neighbours.starts[i+1]++
		p.degree[i] += weight
	}
	s.together(func(i, j int, both uint32) {
		a := s.affinity(i, j, both)
		put(i, j, a)
		put(j, i, a)
	})
	p.neighbours.starts = p.neighbours.starts[:p.tokens+1]
}

// laplace overwrites dst with L v.
func (p *program) laplace(dst, v []float64) {
	const chunk = 64
	parallel(p.workers, (p.tokens+chunk-1)/chunk, func(c int) {
		for i := c * chunk; i < min((c+1)*chunk, p.tokens); i++ {
			p.laplaceRow(dst[i*p.bits:(i+1)*p.bits], v, i)
		}
	})
}

// laplaceRow takes four neighbours at a time: loading and storing the row once for all of them makes it several times
// faster.
func (p *program) laplaceRow(row, v []float64, i int) {
	for k := range row {
		row[k] = p.degree[i] * v[i*p.bits+k]
	}
	from, to := p.neighbours.starts[i], p.neighbours.starts[i+1]
	neighbours, weights := p.neighbours.items[from:to], p.weights[from:to]
	of := func(at int) []float64 { return v[int(neighbours[at])*p.bits:][:len(row)] }
	at := 0
	for ; at+4 <= len(neighbours); at += 4 {
		v0, v1, v2, v3 := of(at), of(at+1), of(at+2), of(at+3)
		w0, w1, w2, w3 := weights[at], weights[at+1], weights[at+2], weights[at+3]
		for k := range row {
			row[k] -= w0*v0[k] + w1*v1[k] + w2*v2[k] + w3*v3[k]
		}
	}
	for ; at < len(neighbours); at++ {
		w, other := weights[at], of(at)
		for k := range row {
			row[k] -= w * other[k]
		}
	}
}

// objective is Σ_ij s_ij ‖y_i − y_j‖² = 2 tr(Yᵀ L Y).
func (p *program) objective(y []float64) float64 {
	p.laplace(p.image, y)
	return 2 * dot(p.image, y)
}

// value is the barrier function at y + alpha · step.
func (p *program) value(alpha float64) float64 {
	logs, proximal := 0.0, 0.0
	for i := range p.y {
		y := p.y[i] + alpha*p.step[i]
		p.r[i] = y
		logs += math.Log(y) + math.Log(1-y)
		proximal += (y - p.c[i]) * (y - p.c[i])
	}
	return p.objective(p.r) + p.lambda*proximal - p.mu*logs
}

// solve runs until the KKT residual is small, and says how it ended.
func (p *program) solve(ctx context.Context) (Solved, error) {
	s := Solved{Lambda: p.lambda}
	for p.slope(); s.Iterations < maxSteps; s.Iterations++ {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		if p.residual(0) <= tolerance {
			break
		}
		for p.residual(p.mu) <= 10*p.mu && p.mu > tolerance/10 {
			p.mu = max(tolerance/10, min(0.2*p.mu, math.Pow(p.mu, 1.5)))
		}
		p.newton()
		if !p.advance() {
			break // the step is lost in rounding
		}
		p.slope()
	}
	s.Residual, s.Objective, s.Spread = p.residual(0), p.objective(p.y), p.spread()
	return s, nil
}

// spread is the greatest distance of a component of y from l/m.
func (p *program) spread() (greatest float64) {
	for _, y := range p.y {
		greatest = max(greatest, math.Abs(y-p.ones/float64(p.bits)))
	}
	return greatest
}

// slope fills gradient with that of the objective and the proximal term.
func (p *program) slope() {
	p.laplace(p.gradient, p.y)
	for i := range p.gradient {
		p.gradient[i] = 4*p.gradient[i] + 2*p.lambda*(p.y[i]-p.c[i])
	}
}

// residual is the greatest violation of the KKT conditions of the barrier problem with mu.
func (p *program) residual(mu float64) float64 {
	worst := 0.0
	for t := range p.tokens {
		sum := -p.ones
		for i := t * p.bits; i < (t+1)*p.bits; i++ {
			sum += p.y[i]
			worst = max(worst, math.Abs(p.gradient[i]+p.nu[t]-p.zl[i]+p.zu[i]),
				math.Abs(p.y[i]*p.zl[i]-mu), math.Abs((1-p.y[i])*p.zu[i]-mu))
		}
		worst = max(worst, math.Abs(sum))
	}
	return worst
}

// newton fills step and nu: projected conjugate gradients, with the diagonal as preconditioner.
func (p *program) newton() {
	for i, y := range p.y {
		p.diagonal[i] = 4*p.degree[i/p.bits] + 2*p.lambda + p.sigma(i) + regularise
		p.step[i] = 0
		p.r[i] = p.gradient[i] - p.mu/y + p.mu/(1-y)
	}
	p.project()
	for i := range p.p {
		p.p[i] = -p.z[i]
	}
	rz := dot(p.r, p.z)
	for tolerance, n := rz*cgReduction*cgReduction*min(1, p.mu), 0; n < maxCGSteps && rz > tolerance && rz > 0; n++ {
		p.multiply()
		alpha := rz / dot(p.p, p.image)
		for i := range p.step {
			p.step[i] += alpha * p.p[i]
			p.r[i] += alpha * p.image[i]
		}
		p.project()
		next := dot(p.r, p.z)
		for i := range p.p {
			p.p[i] = -p.z[i] + next/rz*p.p[i]
		}
		rz = next
	}
}

func (p *program) sigma(i int) float64 { return p.zl[i]/p.y[i] + p.zu[i]/(1-p.y[i]) }

// multiply fills image with the upper left block times p.
func (p *program) multiply() {
	p.laplace(p.image, p.p)
	for i, v := range p.p {
		p.image[i] = 4*p.image[i] + (2*p.lambda+p.sigma(i)+regularise)*v
	}
}

// project fills z with r over the diagonal, each row without its part across Σ_k z_ik = 0. What is taken out is −ν.
func (p *program) project() {
	for t := range p.tokens {
		above, below := 0.0, 0.0
		for i := t * p.bits; i < (t+1)*p.bits; i++ {
			above += p.r[i] / p.diagonal[i]
			below += 1 / p.diagonal[i]
		}
		p.nu[t] = -above / below
		for i := t * p.bits; i < (t+1)*p.bits; i++ {
			p.z[i] = (p.r[i] + p.nu[t]) / p.diagonal[i]
		}
	}
}

// advance goes along the step as far as the bounds and Armijo's test allow; false: nowhere.
func (p *program) advance() bool {
	slope, longest, longestZ := 0.0, 1.0, 1.0
	tau := max(stepBoundary, 1-p.mu)
	for i, y := range p.y {
		d := p.step[i]
		slope += d * (p.gradient[i] - p.mu/y + p.mu/(1-y))
		longest = min(longest, reach(y, d, tau), reach(1-y, -d, tau))
		longestZ = min(longestZ, reach(p.zl[i], p.stepLower(i), tau), reach(p.zu[i], p.stepUpper(i), tau))
	}
	before := p.value(0)
	alpha := longest
	for ; p.value(alpha) > before+sufficient*alpha*slope+1e-12*math.Abs(before); alpha /= 2 {
		if alpha < 1e-12 {
			return false
		}
	}
	for i := range p.y {
		zl, zu := p.stepLower(i), p.stepUpper(i)
		p.zl[i] += longestZ * zl
		p.zu[i] += longestZ * zu
		p.y[i] += alpha * p.step[i]
	}
	return true
}

func (p *program) stepLower(i int) float64 {
	return p.mu/p.y[i] - p.zl[i] - p.zl[i]/p.y[i]*p.step[i]
}

func (p *program) stepUpper(i int) float64 {
	return p.mu/(1-p.y[i]) - p.zu[i] + p.zu[i]/(1-p.y[i])*p.step[i]
}

// reach is the longest step from v > 0 along d that leaves at least 1 − tau of it.
func reach(v, d, tau float64) float64 {
	if d >= 0 {
		return 1
	}
	return min(1, -tau*v/d)
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

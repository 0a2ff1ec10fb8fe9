package train

import (
	"math"
	"slices"
	"testing"

	"refrain/text"
)

// TestMerge: tokens that are always together are of one class, a chain joins, and others stay alone.
func TestMerge(t *testing.T) {
	var sets [][]uint64
	for i := range uint64(20) {
		sets = append(sets, []uint64{1, 2, 1000 + i%4}, []uint64{3, 4}, []uint64{4, 5})
	}
	s := newState(sets, frequent(sets, 100), mustMD5(t, 32, 1))
	s.weigh(sets, nil)
	number := map[uint64]int{}
	for i, w := range s.vocab {
		number[w.token] = i
	}
	class := s.merge(0.7) // 3 and 4 have an affinity of 20 / sqrt(20 · 40) = 0.71, 4 and 5 too
	same := func(a, b uint64) bool { return class[number[a]] == class[number[b]] }
	if !same(1, 2) || !same(3, 4) || !same(3, 5) || same(1, 3) || same(1, 1000) || class[number[3]] != number[4] {
		t.Errorf("classes %v of %v", class, s.vocab)
	}
	if got := describeClasses(class); got.Classes != 2 || got.Largest != 3 || got.Tokens != 5 {
		t.Errorf("got %+v", got)
	}
}

// TestAffinityCountsSentences: a set that came often is as many sentences, of pairs and of tokens.
func TestAffinityCountsSentences(t *testing.T) {
	var sets [][]uint64
	var counts []uint32
	for i := range uint64(6) { // the larger first: rows are by size
		sets, counts = append(sets, []uint64{1, 2, 100 + i}, []uint64{1, 200 + i}), append(counts, 1, 5)
	}
	s := newState(sets, []word{{token: 1}, {token: 2}}, mustMD5(t, 32, 1))
	for _, c := range []struct {
		counts []uint32
		want   float64
	}{{nil, 6 / math.Sqrt(12*6)}, {counts, 6 / math.Sqrt(36*6)}} {
		s.weigh(sets, c.counts)
		s.together(func(i, j int, both uint32) {
			if got := s.affinity(i, j, both); math.Abs(got-c.want) > 1e-12 {
				t.Errorf("counts %v: affinity %g, want %g", c.counts, got, c.want)
			}
		})
	}
}

func newTestProgram(t *testing.T, lambda float64, workers int) *program {
	sets := phrases(800, 1)
	s := newState(sets, frequent(sets, 80), mustMD5(t, 32, 2))
	s.weigh(sets, nil)
	return newProgram(s, 2, lambda, workers)
}

// TestLaplace compares L v with its definition, and the objective with the sum over all ordered pairs.
func TestLaplace(t *testing.T) {
	p := newTestProgram(t, 1, 3)
	var want float64
	for i := range p.tokens {
		for at := p.neighbours.starts[i]; at < p.neighbours.starts[i+1]; at++ {
			for k := range p.bits {
				d := p.y[i*p.bits+k] - p.y[int(p.neighbours.items[at])*p.bits+k]
				want += p.weights[at] * d * d
			}
		}
	}
	if got := p.objective(p.y); math.Abs(got-want) > 1e-9*want || want == 0 {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSolve: the residuals vanish, rows sum to l inside the bounds, and no nearby point that also sums to l is better.
func TestSolve(t *testing.T) {
	for _, lambda := range []float64{0.1, 1, 10} {
		p := newTestProgram(t, lambda, 2)
		start := p.objective(p.c)
		solved, err := p.solve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if solved.Residual > tolerance || solved.Objective >= start {
			t.Errorf("λ = %g: %+v; the hashed codes have an objective of %g", lambda, solved, start)
		}
		best := p.full(p.y)
		for i := 0; i+1 < len(p.y); i++ {
			if (i+1)%p.bits == 0 {
				continue
			}
			y := slices.Clone(p.y)
			move := min(y[i], 1-y[i+1], 1e-2)
			y[i], y[i+1] = y[i]-move, y[i+1]+move
			if p.full(y) < best-1e-3 {
				t.Fatalf("λ = %g: moving %g from component %d to the next one betters %g to %g", lambda, move, i, best, p.full(y))
			}
		}
	}
}

// full is the objective with the proximal term.
func (p *program) full(y []float64) float64 {
	sum := p.objective(y)
	for i := range y {
		sum += p.lambda * (y[i] - p.c[i]) * (y[i] - p.c[i])
	}
	return sum
}

// TestDegenerate: without the proximal term the problem of the paper has one common vector for all tokens as its
// solution, l/m everywhere.
func TestDegenerate(t *testing.T) {
	p := newTestProgram(t, 0, 2)
	solved, err := p.solve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := p.ones / float64(p.bits)
	for i, y := range p.y {
		if math.Abs(y-want) > 0.01 {
			t.Fatalf("component %d of token %d is %v, want %v everywhere", i%p.bits, i/p.bits, y, want)
		}
	}
	if solved.Residual > tolerance || solved.Objective > 1e-3 || solved.Spread > 0.01 {
		t.Errorf("%+v", solved)
	}
}

// TestHarmless: classes that cost recall within a fixed distance are dropped, and the others stay.
func TestHarmless(t *testing.T) {
	c := Config{Learner: "ner", Bits: 32, Ones: 2, Measure: fourFifths, Vocabulary: 200, Seed: 1, Workers: 2, Fixed: true,
		Affinities: []float64{0.5}}
	s := Collect(slices.Values(phrases(1500, 1)), 1500, 1)
	_, all := mustLearn(t, c, s)
	c.KeepRecall = true
	m, some := mustLearn(t, c, s)
	was, is := all.Merged[0], some.Merged[0]
	if is.Dropped == 0 || is.Classes == 0 || is.Classes+is.Dropped != was.Classes || is.Tokens >= was.Tokens {
		t.Errorf("%+v, and without what costs recall %+v", was, is)
	}
	l := newLearning(t.Context(), c, s)
	choice, err := l.newChoice()
	if err != nil {
		t.Fatal(err)
	}
	choice.setBaseline(mustMD5(t, 32, 2))
	if choice.losesRecall(m) {
		t.Error("the model loses recall")
	}
}

func TestRound(t *testing.T) {
	code := []uint64{^uint64(0)}
	round(code, []float64{0.1, 0.5, 0.2, 0.5, 0.5}, 2)
	if code[0] != 1<<1|1<<3 {
		t.Errorf("got %b: want the first two of the greatest", code[0])
	}
}

// TestBaselines: all learners give models of exactly the ones asked for, and reports of what they tried.
func TestBaselines(t *testing.T) {
	if testing.Short() {
		t.Skip("long: runs without -short")
	}
	s := Collect(slices.Values(phrases(1500, 1)), 1500, 1)
	for _, learner := range []string{"md5", "ner", "opt"} {
		c := Config{Learner: learner, Bits: 32, Ones: 2, Measure: text.Jaccard.At(text.DefaultThreshold), Vocabulary: 200, Seed: 1,
			Workers: 2, Lambdas: Default().Lambdas, Affinities: Default().Affinities}
		m, r := mustLearn(t, c, s)
		for e := range m.Entries() {
			if len(e.Positions) != 2 {
				t.Fatalf("%s: code %v", learner, e)
			}
		}
		if learner == "ner" && len(r.Merged) != len(c.Affinities) || learner == "opt" && len(r.Solved) != len(c.Lambdas) {
			t.Errorf("%s: report %+v", learner, r)
		}
		_, judges := halve(s.Validation, c.Seed)
		if r.After != Count(t.Context(), m, c.Measure, judges, slices.Concat(s.Learning, s.Validation)) {
			t.Errorf("%s: the report says %+v", learner, r.After)
		}
	}
}

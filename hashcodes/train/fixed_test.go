package train

import (
	"math"
	"slices"
	"testing"

	"refrain/hashcodes"
	"refrain/text"
)

// TestCostAt: 10 near rows, of which 8 lie at 0 and one each at 2 and 3.
func TestCostAt(t *testing.T) {
	got := costAt([]int{10, 0, 20, 70, 900}, []int{8, 0, 1, 1, 0}, 2)
	at := func(candidates float64) float64 { return math.Log(candidates / 2) }
	// Within 2 nine are found, just 0.9 of them. For 0.95 it takes half the way from there to 3, for 0.99 nine tenths.
	want := (at(30) + (at(30)+at(100))/2 + (0.1*at(30) + 0.9*at(100))) / 3
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("got %g, want %g", got, want)
	}
	if got := costAt([]int{10, 5}, []int{8, 0}, 1); math.Abs(got-math.Log(10)) > 1e-12 {
		t.Errorf("all within 0: got %g", got)
	}
	if got := costAt([]int{1, 2}, []int{0, 0}, 1); got != 0 {
		t.Errorf("nothing to find: got %g", got)
	}
}

// TestFixedNear: what is similar is what comparing all pairs by cosine finds, without what is equal.
func TestFixedNear(t *testing.T) {
	sets := phrases(400, 1)
	for _, set := range sets[:100] { // and some that are like them
		sets = append(sets, set[1:], set[len(set)/2:])
	}
	tab := newTable(sets, 1)
	f := newFixed(tab, fourFifths.Threshold, sets[:100], mustMD5(t, 128, 1), 3)
	all, unequal := 0, 0
	for q, x := range f.queries {
		var want []uint32
		for row, y := range tab.sets {
			c := text.Intersection(x, y)
			if 25*c*c >= 16*len(x)*len(y) && (c < len(x) || c < len(y)) {
				want = append(want, uint32(row))
				unequal += min(1, max(len(x)-len(y), len(y)-len(x)))
			}
		}
		slices.Sort(f.similar[q])
		if !slices.Equal(f.similar[q], want) {
			t.Fatalf("query %d: rows %v, want %v", q, f.similar[q], want)
		}
		all += len(want)
	}
	if all < 20 || unequal < 10 {
		t.Errorf("%d similar pairs, %d of unequal sizes, prove little", all, unequal)
	}
}

// TestFixedDistances counts by the definition of the distance.
func TestFixedDistances(t *testing.T) {
	sets := phrases(200, 2)
	m := mustMD5(t, 64, 2)
	f := newFixed(newTable(sets, 2), fourFifths.Threshold, sets[:5], mustMD5(t, 64, 1), 1)
	f.all.sign(m)
	for q, x := range f.queries {
		want := make([]int, 65)
		for _, y := range sets {
			want[hashcodes.Distance(m.Sign(make(hashcodes.Signature, 2), x), m.Sign(make(hashcodes.Signature, 2), y))]++
		}
		got, near := f.distances(m, q)
		sum := 0
		for _, n := range near {
			sum += n
		}
		if !slices.Equal(got, want) || sum != len(f.similar[q]) {
			t.Errorf("got %v and %d similar, want %v and %d", got, sum, want, len(f.similar[q]))
		}
	}
}

// TestLambdas: what is learned with one λ does not depend on those tried before it.
func TestLambdas(t *testing.T) {
	s := Collect(slices.Values(phrases(600, 1)), 600, 1)
	c := Config{Learner: "opt", Bits: 32, Ones: 2, Measure: fourFifths, Vocabulary: 60, Seed: 1,
		Lambdas: []float64{0.1, 1}, Workers: 2}
	_, both := mustLearn(t, c, s)
	c.Lambdas = c.Lambdas[1:]
	_, alone := mustLearn(t, c, s)
	both.Solved[1].Chosen, alone.Solved[0].Chosen = false, false
	if both.Solved[1] != alone.Solved[0] {
		t.Errorf("after another %+v, alone %+v", both.Solved[1], alone.Solved[0])
	}
}

// TestFixedChoice: what is chosen is the least by the measure that was asked for.
func TestFixedChoice(t *testing.T) {
	s := Collect(slices.Values(phrases(600, 1)), 600, 1)
	for _, fixed := range []bool{false, true} {
		c := Config{Learner: "opt", Bits: 32, Ones: 2, Measure: fourFifths, Vocabulary: 60, Seed: 1,
			Lambdas: []float64{0.001, 0.3, 10}, Fixed: fixed, Workers: 2}
		l := newLearning(t.Context(), c, s)
		best, cost, err := l.opt()
		if err != nil {
			t.Fatal(err)
		}
		place := slices.IndexFunc(l.report.Solved, func(s Solved) bool { return s.Chosen })
		if place < 0 || cost != l.validate(best) {
			t.Fatalf("%+v, cost %+v", l.report.Solved, cost)
		}
		for i, lambda := range c.Lambdas {
			d := c
			d.Lambdas = []float64{lambda}
			m, r := mustLearn(t, d, s)
			if r.Solved[0].Cost < l.report.Solved[place].Cost || r.Solved[0].Cost != l.report.Solved[i].Cost {
				t.Errorf("fixed %v: λ = %g costs %+v, the chosen %g costs %+v", fixed, lambda, r.Solved[0],
					c.Lambdas[place], l.report.Solved)
			}
			if i == place && !slices.EqualFunc(slices.Collect(m.Entries()), slices.Collect(best.Entries()),
				func(a, b hashcodes.Entry) bool { return slices.Equal(a.Positions, b.Positions) }) {
				t.Errorf("fixed %v: the model is not that of λ = %g", fixed, lambda)
			}
		}
	}
}

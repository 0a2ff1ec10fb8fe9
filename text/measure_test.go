package text

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// bounded is what a Measure says, so that a mutant can say something else.
type bounded interface {
	MinOverlap(n, k int) int
	Sizes(n int) (min, max int)
	Prefix(n int) int
	IndexPrefix(n int) int
	Reaches(common, n, k int) bool
}

// definition is a measure by its formula, in exact rationals. Roots are compared by their squares.
type definition struct {
	kind  Similarity
	theta *big.Rat
}

func definitionOf(m Measure) definition {
	return definition{m.Similarity, big.NewRat(int64(m.Threshold.Num), int64(m.Threshold.Den))}
}

func (d definition) reaches(common, n, k int) bool {
	switch d.kind {
	case Jaccard:
		return common > 0 && ratio(common, n+k-common).Cmp(d.theta) >= 0
	case Cosine:
		square := new(big.Rat).SetFrac(product(common, common), product(n, k))
		return square.Cmp(new(big.Rat).Mul(d.theta, d.theta)) >= 0
	case Dice:
		return ratio(2*common, n+k).Cmp(d.theta) >= 0
	}
	return ratio(common, 1).Cmp(d.theta) >= 0
}

func ratio(a, b int) *big.Rat { return big.NewRat(int64(a), int64(b)) }

func product(a, b int) *big.Int { return new(big.Int).Mul(big.NewInt(int64(a)), big.NewInt(int64(b))) }

// minOverlap tries one after the other; min(n, k) + 1 where none is enough.
func (d definition) minOverlap(n, k int) int {
	for common := 0; common <= min(n, k); common++ {
		if d.reaches(common, n, k) {
			return common
		}
	}
	return min(n, k) + 1
}

// table is minOverlap of all sizes up to some.
type table [][]int

func (d definition) table(largest int) table {
	t := make(table, largest+1)
	for n := range t {
		t[n] = make([]int, largest+1)
		for k := 1; n > 0 && k <= largest; k++ {
			t[n][k] = d.minOverlap(n, k)
		}
	}
	return t
}

// check compares all that b says of sizes up to that of the table. Of partners it sees those of such sizes only: so a
// prefix, which is of the smallest, it sees whole.
func (t table) check(b bounded, d definition) error {
	for n := 1; n < len(t); n++ {
		low, high := b.Sizes(n)
		prefix, indexPrefix := 0, 0
		for k := 1; k < len(t); k++ {
			least := t[n][k]
			possible := least <= min(n, k)
			if got := low <= k && k <= high; got != possible {
				return fmt.Errorf("Sizes(%d) = %d, %d; of %d tokens: %t, want %t", n, low, high, k, got, possible)
			}
			if got := b.MinOverlap(n, k); got != least && (possible || got <= min(n, k)) {
				return fmt.Errorf("MinOverlap(%d, %d) = %d, want %d", n, k, got, least)
			}
			for common := range min(n, k) + 1 {
				if got, want := b.Reaches(common, n, k), d.reaches(common, n, k); got != want {
					return fmt.Errorf("Reaches(%d, %d, %d): got %t, want %t", common, n, k, got, want)
				}
			}
			if possible {
				prefix = max(prefix, n-least+1)
			}
			if possible && k >= n {
				indexPrefix = max(indexPrefix, n-least+1)
			}
		}
		if b.Prefix(n) != prefix || b.IndexPrefix(n) != indexPrefix {
			return fmt.Errorf("prefixes of %d: got %d and %d, want %d and %d", n, b.Prefix(n), b.IndexPrefix(n), prefix, indexPrefix)
		}
	}
	return nil
}

// measuresTried are all kinds at usual and at awkward thresholds.
func measuresTried(t *testing.T) (all []Measure) {
	for _, s := range []string{"0.5", "0.55", "0.6", "2/3", "0.7", "0.75", "0.8", "0.85", "0.9", "0.95", "0.99", "1", "1/3",
		"0.123456", "0.894427", "0.707107", "999999/1000000", "1/1000000"} {
		for _, kind := range []Similarity{Jaccard, Cosine, Dice} {
			all = append(all, kind.At(mustThreshold(t, s)))
		}
	}
	for _, alpha := range []int{1, 2, 5, 20, 60} {
		all = append(all, Overlap.At(Threshold{alpha, 1}))
	}
	return all
}

// TestMeasureAgainstItsDefinition compares everything a Measure says with its formula in rationals, for all sizes up to
// 40: what is lost nowhere, and nowhere wider than need be.
func TestMeasureAgainstItsDefinition(t *testing.T) {
	for _, m := range measuresTried(t) {
		d := definitionOf(m)
		if err := d.table(40).check(m, d); err != nil {
			t.Errorf("%v: %v", m, err)
		}
	}
}

// Mutants of a Measure, each wrong in one thing that is easily got wrong.
type (
	rootInFloat struct{ Measure } // the ceiling of a root in floating point
	floors      struct{ Measure } // overlaps rounded down
	sizesOfT    struct{ Measure } // θ n to n/θ, those of Jaccard
	prefixOfT   struct{ Measure } // the prefix of Jaccard
	joinPrefix  struct{ Measure } // the shorter prefix for all
	strict      struct{ Measure } // more than the threshold
	empty       struct{ Measure } // sets of no common tokens
)

func (m rootInFloat) MinOverlap(n, k int) int {
	if m.Similarity != Cosine {
		return m.Measure.MinOverlap(n, k)
	}
	return int(math.Ceil(m.Threshold.Float() * math.Sqrt(float64(n)) * math.Sqrt(float64(k))))
}

func (m floors) MinOverlap(n, k int) int {
	if m.Similarity == Cosine {
		return max(1, m.Measure.MinOverlap(n, k)-1)
	}
	return m.Threshold.Num * (n + k) / (m.Threshold.Num + m.Threshold.Den)
}

func (m sizesOfT) Sizes(n int) (min, max int) { return Jaccard.At(m.Threshold).Sizes(n) }
func (m prefixOfT) Prefix(n int) int          { return Jaccard.At(m.Threshold).Prefix(n) }
func (m joinPrefix) Prefix(n int) int         { return m.IndexPrefix(n) }

func (m strict) Reaches(common, n, k int) bool {
	return m.Measure.Reaches(common, n, k) && common > m.MinOverlap(n, k)
}

func (m empty) Reaches(common, n, k int) bool { return common == 0 || m.Measure.Reaches(common, n, k) }

// TestMutantsOfMeasures: the comparison finds each of them.
func TestMutantsOfMeasures(t *testing.T) {
	fourFifths := Threshold{4, 5}
	for _, kind := range []Similarity{Jaccard, Cosine, Dice} {
		m := kind.At(fourFifths)
		mutants := []bounded{floors{m}, joinPrefix{m}, strict{m}, empty{m}}
		if kind != Jaccard {
			mutants = append(mutants, sizesOfT{m}, prefixOfT{m})
		}
		if kind == Cosine {
			mutants = append(mutants, rootInFloat{m})
		}
		d := definitionOf(m)
		table := d.table(40)
		for _, mutant := range mutants {
			if table.check(mutant, d) == nil {
				t.Errorf("%T of %v passes", mutant, m)
			}
		}
	}
}

// TestMeasureOfLargeSets: sets of up to 2²⁰ tokens, thresholds of the largest denominators, where 64 bits are too few
// for some products, against the definition on both sides of each bound.
func TestMeasureOfLargeSets(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(1, 1<<20), rapid.Just(1<<20))
		den := rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(maxDenominator-9, maxDenominator)).Draw(r, "den")
		m := Similarity(rapid.IntRange(0, 2).Draw(r, "kind")).At(Threshold{rapid.IntRange(1, den).Draw(r, "num"), den})
		d, n, k := definitionOf(m), size.Draw(r, "n"), size.Draw(r, "k")
		low, high := m.Sizes(n)
		for _, edge := range []int{low, high} {
			if got := d.reaches(min(n, edge), n, edge); edge <= 1<<20 && !got {
				r.Fatalf("%v: Sizes(%d) = %d, %d, and of %d is too far", m, n, low, high, edge)
			}
		}
		if low > 1 && d.reaches(low-1, n, low-1) || d.reaches(n, n, high+1) {
			r.Fatalf("%v: Sizes(%d) = %d, %d leave some out", m, n, low, high)
		}
		o := m.MinOverlap(n, k)
		if !d.reaches(o, n, k) || d.reaches(o-1, n, k) {
			r.Fatalf("%v: MinOverlap(%d, %d) = %d", m, n, k, o)
		}
		for _, common := range []int{0, o - 1, o, min(n, k)} {
			if got, want := m.Reaches(common, n, k), d.reaches(common, n, k); got != want {
				r.Fatalf("%v: Reaches(%d, %d, %d): got %t, want %t", m, common, n, k, got, want)
			}
		}
	})
}

// TestPrefixesMeet: of two sets in one order that are similar enough, the prefixes have a token in common; of the
// smaller one the shorter prefix is enough.
func TestPrefixesMeet(t *testing.T) {
	tried := measuresTried(t)
	set := rapid.SliceOfNDistinct(rapid.Uint64Range(1, 14), 1, 14, rapid.ID[uint64])
	rapid.Check(t, func(r *rapid.T) {
		a, b := Set(set.Draw(r, "a")), Set(set.Draw(r, "b"))
		if len(a) > len(b) {
			a, b = b, a
		}
		for _, m := range tried {
			if !m.Reaches(Intersection(a, b), len(a), len(b)) {
				continue
			}
			from := b[:m.Prefix(len(b))]
			if Intersection(a[:m.Prefix(len(a))], from) == 0 || Intersection(a[:m.IndexPrefix(len(a))], from) == 0 {
				r.Fatalf("%v: the prefixes of %v and %v have nothing in common", m, a, b)
			}
		}
	})
}

// TestSimilarityReaches: what is shown agrees with what decides, at thresholds that a float64 has room for.
func TestSimilarityReaches(t *testing.T) {
	for _, m := range measuresTried(t) {
		if m.Threshold.Den > 100 {
			continue
		}
		for n := 1; n <= 40; n++ {
			for k := 1; k <= 40; k++ {
				for common := range min(n, k) + 1 {
					if shown := m.Similarity.Value(common, n, k) >= m.Threshold.Float(); shown != m.Reaches(common, n, k) {
						t.Fatalf("%v: %d common of %d and %d: %v is shown", m, common, n, k, m.Similarity.Value(common, n, k))
					}
				}
			}
		}
	}
}

func TestParseSimilarity(t *testing.T) {
	for _, name := range similarityNames {
		if k, err := ParseSimilarity(name); err != nil || k.String() != name {
			t.Errorf("%s: got %v, %v", name, k, err)
		}
	}
	for _, name := range []string{"", "Jaccard", "cosin", "4"} {
		if k, err := ParseSimilarity(name); err == nil {
			t.Errorf("%q: got %v", name, k)
		}
	}
	if got := Similarity(9).String(); got != "similarity 9" || !slices.Equal(Similarities, []string{"jaccard", "cosine", "dice"}) {
		t.Errorf("got %q, and %v", got, Similarities)
	}
}

package train

import (
	"context"
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"refrain/hashcodes"
	"refrain/text"
)

// phrases draws n distinct sets as feeds have them: stock phrases of frequent tokens with a few rarer tokens each.
func phrases(n int, seed uint64) [][]uint64 {
	r := rand.New(rand.NewPCG(seed, 9))
	s := Collect(func(yield func([]uint64) bool) {
		for range n {
			phrase := uint64(r.IntN(20))
			var set []uint64
			for i := range uint64(6) {
				set = append(set, 10*phrase+i)
			}
			for range 3 + r.IntN(4) {
				set = append(set, 1000+uint64(min(r.ExpFloat64()*100, 900)))
			}
			if !yield(text.Set(set)) {
				return
			}
		}
	}, n, seed)
	return slices.Concat(s.Learning, s.Validation)
}

func mustMD5(tb testing.TB, bits, ones int) *hashcodes.Model {
	tb.Helper()
	m, err := hashcodes.NewMD5(bits, ones)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

var fourFifths = text.Jaccard.At(text.Threshold{Num: 4, Den: 5})

func TestCountAgainstAllPairs(t *testing.T) {
	for ones := 1; ones <= 2; ones++ {
		countAgainstAllPairs(t, mustMD5(t, 32, ones))
	}
}

func countAgainstAllPairs(t *testing.T, m *hashcodes.Model) {
	sets := phrases(1000, 1)
	queries := sets[300:360]
	want := Cost{Queries: len(queries)}
	for _, q := range queries {
		for _, set := range sets {
			common := text.Intersection(q, set)
			switch {
			case slices.Equal(q, set):
			case fourFifths.Reaches(common, len(q), len(set)):
				want.True++
			case mayMatch(m, fourFifths, q, set):
				want.False++
			}
		}
	}
	if got := Count(t.Context(), m, fourFifths, queries, sets); got != want || want.True == 0 || want.False == 0 {
		t.Errorf("got %+v, want %+v, with some of both", got, want)
	}
}

// mayMatch reports whether y passes the holders of x, and has a size that may match, by the definition.
func mayMatch(m *hashcodes.Model, similar text.Measure, x, y []uint64) bool {
	overlap := similar.MinOverlap(len(x), len(y))
	if overlap > min(len(x), len(y)) {
		return false
	}
	sx, sy := m.Sign(make(hashcodes.Signature, m.Words()), x), m.Sign(make(hashcodes.Signature, m.Words()), y)
	outside, further, code := 0, 0, make(hashcodes.Signature, m.Words())
	for _, token := range x {
		for i, word := range m.Code(code, token) {
			if word&^sy[i] != 0 {
				outside++
				break
			}
		}
	}
	for i, word := range sy {
		further += bits.OnesCount32(word &^ sx[i])
	}
	return outside <= len(x)-overlap && further <= m.Ones()*(len(y)-overlap)
}

// TestMineAgainstAllPairs: where a stratum is small, the sample is all of it; so hot, none is negligible.
func TestMineAgainstAllPairs(t *testing.T) {
	sets := phrases(600, 1)
	for _, ones := range []int{1, 2} {
		s := newState(sets, frequent(sets, 100), mustMD5(t, 64, ones))
		m := miner{state: s, similar: fourFifths, ones: ones, workers: 2}
		p := m.mine(t.Context(), 1, 5)
		want := 0
		for i, a := range s.tab.sets {
			for j, b := range s.tab.sets[:i] {
				radius := hashcodes.Radius(fourFifths, ones, len(a), len(b))
				e := distance(s.sig(i), s.sig(j)) - radius
				if radius < 0 || e > maxExcessBits || fourFifths.Reaches(text.Intersection(a, b), len(a), len(b)) {
					continue
				}
				want++
				l := link{uint32(i), uint16(radius), uint8(max(e, 0))}
				if !slices.Contains(p.of(uint32(j)), l) {
					t.Fatalf("pair %d, %d: no link %+v among %v", i, j, l, p.of(uint32(j)))
				}
			}
		}
		if len(p.links) != 2*want || want == 0 {
			t.Errorf("%d ones: %d ends of pairs, want two for each of %d", ones, len(p.links), want)
		}
	}
}

// TestCut: the segments of a range are that range.
func TestCut(t *testing.T) {
	for _, segments := range []int{1, 3, 7, 50} {
		next := 10
		for segment := range segments {
			from, to := segmentRows(10, 41, segment, segments)
			if from != next {
				t.Fatalf("segment %d of %d begins at %d, the one before ends at %d", segment, segments, from, next)
			}
			next = to
		}
		if next != 41 {
			t.Errorf("%d segments end at %d, want 41", segments, next)
		}
	}
}

// TestGains asks of each move that the mover measures what it does to every pair, by making it.
func TestGains(t *testing.T) {
	sets := phrases(500, 1)
	for _, c := range []struct{ bits, ones int }{{32, 1}, {64, 2}, {128, 3}} {
		s := newState(sets, frequent(sets, 60), mustMD5(t, c.bits, c.ones))
		miner := miner{state: s, similar: fourFifths, ones: c.ones, workers: 1}
		m := newMover(s, 2)
		m.pairs = miner.mine(t.Context(), 1, 0.7)
		m.loss = newLoss(m.pairs, 0.7)
		for number := 0; number < len(s.vocab); {
			slots := m.fill(number, c.ones-1)
			m.measure(slots)
			for i := range slots {
				for b := 0; b < c.bits; b += 5 {
					if want := gainOf(s, m, &slots[i], b); slots[i].gains[b] != want {
						t.Fatalf("%+v: token %d, bit %d: gains %d, want %d", c, slots[i].number, b, slots[i].gains[b], want)
					}
				}
			}
			number += len(slots)
		}
	}
}

// gainOf is the change of the loss between the slot's base and that code with bit b.
func gainOf(s *state, m *mover, slot *slot, b int) (sum int64) {
	code := s.code(slot.number)
	old := slices.Clone(code)
	defer func() { copy(code, old); resign(s) }()
	copy(code, slot.base)
	resign(s)
	before := slices.Clone(s.sigs)
	code[b/64] |= 1 << (b % 64)
	resign(s)
	for row := range s.tab.sets {
		for _, l := range m.pairs.of(uint32(row)) {
			if int(l.other) < row {
				continue
			}
			other := int(l.other)
			was := distance(before[row*s.words:(row+1)*s.words], before[other*s.words:(other+1)*s.words])
			is := distance(s.sig(row), s.sig(other))
			e := was - int(l.radius)
			if e > maxExcessBits+1 {
				continue
			}
			switch level := max(e, -deepest) + deepest; is - was {
			case 1:
				sum += m.loss.more[l.stratum][level]
			case -1:
				sum += m.loss.less[l.stratum][level]
			}
		}
	}
	return sum
}

func resign(s *state) {
	for row := range s.tab.sets {
		s.sign(row)
	}
}

func mustLearn(tb testing.TB, c Config, s *Sample) (*hashcodes.Model, *Report) {
	tb.Helper()
	m, report, err := c.Learn(tb.Context(), s)
	if err != nil {
		tb.Fatal(err)
	}
	return m, report
}

// TestDirectHelps learns from stock phrases: of other sentences with them, half as many must be false candidates.
func TestDirectHelps(t *testing.T) {
	if testing.Short() {
		t.Skip("long: runs without -short")
	}
	s := Collect(slices.Values(phrases(1200, 1)), 1200, 1)
	others := phrases(2000, 2)
	c := Config{Learner: "direct", Bits: 32, Ones: 2, Measure: fourFifths, Vocabulary: 1000, Seed: 3, Workers: 2}
	m, report := mustLearn(t, c, s)
	md5, learned := Count(t.Context(), mustMD5(t, 32, 1), fourFifths, others[:200], others),
		Count(t.Context(), m, fourFifths, others[:200], others)
	if md5.False < 2*learned.False {
		t.Errorf("false candidates: %d with md5, %d learned: want half", md5.False, learned.False)
	}
	if md5.True != learned.True || md5.True == 0 {
		t.Errorf("true candidates: %d with md5, %d learned: want the same, and some", md5.True, learned.True)
	}
	if report.Before.False <= report.After.False {
		t.Errorf("report: %+v", report)
	}
}

// TestComparedWithTheBest: direct, which may do with fewer ones than it is allowed, is compared with the hashed codes of the
// number that does best; a learner of codes with just so many ones with these.
func TestComparedWithTheBest(t *testing.T) {
	s := Collect(slices.Values(phrases(500, 1)), 500, 1)
	c := Config{Learner: "direct", Bits: 32, Ones: 1, Measure: fourFifths, Vocabulary: 20, Workers: 2}
	_, one := mustLearn(t, c, s)
	c.Ones = 8
	_, eight := mustLearn(t, c, s)
	if eight.HashedOnes() >= 8 || eight.BeforeOnes != eight.HashedOnes() || eight.Before.False > one.Before.False {
		t.Errorf("up to 8 ones: %+v, no better than with one: %+v", eight.Before, one.Before)
	}
	if one.BeforeOnes != 0 || one.HashedOnes() != 1 {
		t.Errorf("one: %+v", one)
	}
	c.Learner = "md5"
	if _, hashed := mustLearn(t, c, s); hashed.HashedOnes() != 8 || hashed.Before != hashed.After ||
		hashed.Before.False <= eight.Before.False {
		t.Errorf("md5 with 8 ones: %+v, with %d %+v", hashed, eight.HashedOnes(), eight.Before)
	}
}

// TestLearnIsDeterministic: the number of goroutines changes no code.
func TestLearnIsDeterministic(t *testing.T) {
	s := Collect(slices.Values(phrases(800, 1)), 800, 1)
	learn := func(workers int) []hashcodes.Entry {
		c := Config{Learner: "direct", Bits: 64, Ones: 2, Measure: fourFifths, Vocabulary: 300, Seed: 3, Workers: workers}
		m, _ := mustLearn(t, c, s)
		return slices.Collect(m.Entries())
	}
	want := learn(1)
	for _, workers := range []int{2, 5} {
		if diff := cmp.Diff(want, learn(workers)); diff != "" {
			t.Errorf("%d workers (-one +%d):\n%s", workers, workers, diff)
		}
	}
}

// TestLearnFromLittle: a handful of sentences must give a model too.
func TestLearnFromLittle(t *testing.T) {
	for n := 1; n < 30; n++ {
		c := Config{Learner: "direct", Bits: 32, Ones: 1, Measure: fourFifths, Vocabulary: 10, Workers: 2}
		m, report := mustLearn(t, c, Collect(slices.Values(phrases(n, 1)), 100, 1))
		if m.Ones() != 1 || report.Learning == 0 {
			t.Errorf("%d sentences: %+v", n, report)
		}
	}
}

// TestLearnStops: a run that is told to stop inside a round does, wherever it is.
func TestLearnStops(t *testing.T) {
	s := Collect(slices.Values(phrases(800, 1)), 800, 1)
	for _, said := range []int{1, 2, 4} {
		ctx, cancel := context.WithCancel(t.Context())
		heard := 0
		c := Config{Learner: "direct", Bits: 32, Ones: 2, Measure: fourFifths, Vocabulary: 300, Workers: 2,
			Progress: func(string) {
				if heard++; heard == said {
					cancel()
				}
			}}
		if _, _, err := c.Learn(ctx, s); !errors.Is(err, context.Canceled) || heard > said+1 {
			t.Errorf("stopped at message %d: error %v after %d", said, err, heard)
		}
		cancel()
	}
}

// TestParallelUntil: what was not begun when the context ended never is.
func TestParallelUntil(t *testing.T) {
	for _, workers := range []int{1, 3} {
		ctx, cancel := context.WithCancel(t.Context())
		var done atomic.Int64
		parallelUntil(ctx, workers, 1000, func(int) {
			done.Add(1)
			cancel()
		})
		if n := int(done.Load()); n < 1 || n > workers {
			t.Errorf("%d workers: %d pieces of work", workers, n)
		}
	}
}

// TestRoundStops: neither drawing pairs nor moving tokens goes on without a context.
func TestRoundStops(t *testing.T) {
	sets := phrases(2000, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newState(sets, frequent(sets, 100), mustMD5(t, 32, 1))
	m := miner{state: s, similar: fourFifths, ones: 1, workers: 2}
	if p := m.mine(ctx, 1, 0.7); len(p.links) > 0 {
		t.Errorf("drew %d ends of pairs", len(p.links))
	}
}

// TestReportIsOfOtherSets: what picks the codes does not judge them.
func TestReportIsOfOtherSets(t *testing.T) {
	sets := numbered(5000)
	some, others := halve(sets, 7)
	if len(some) != validationQueries || len(others) != validationQueries {
		t.Fatalf("%d to pick by, %d to judge by", len(some), len(others))
	}
	first := 0
	for _, set := range others {
		if slices.ContainsFunc(some, func(x []uint64) bool { return slices.Equal(x, set) }) {
			t.Fatalf("%v is in both", set)
		}
		if set[0] < 2500 {
			first++
		}
	}
	if first < 800 || first > 1200 {
		t.Errorf("%d of %d are of the first half", first, len(others))
	}
}

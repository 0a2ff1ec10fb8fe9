package growth

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"refrain/text"
)

// TestSeed: streams of one seed are the same, those of others are not.
func TestSeed(t *testing.T) {
	a, b, other := New(Fitted(), 1), New(Fitted(), 1), New(Fitted(), 2)
	same := 0
	for i := range 5000 {
		x, part := a.Next(nil)
		y, again := b.Next(nil)
		if part != again || !slices.Equal(x, y) {
			t.Fatalf("sentence %d: %v and %v of one seed", i, x, y)
		}
		if z, _ := other.Next(nil); slices.Equal(x, z) {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d sentences are those of another seed", same)
	}
}

// TestSets: sentences are sets of the sizes and the components that the model says.
func TestSets(t *testing.T) {
	m := Fitted()
	s := New(m, 3)
	const n = 20_000
	counts, tokens := make([]float64, len(m.Components)), make([]float64, len(m.Components))
	for range n {
		set, part := s.Next(nil)
		if !slices.IsSorted(set) || len(slices.Compact(slices.Clone(set))) != len(set) || len(set) > text.MaxTokens {
			t.Fatalf("not a set: %v", set)
		}
		counts[part]++
		tokens[part] += float64(len(set))
	}
	for i := range m.Components {
		c := &m.Components[i]
		if share := counts[i] / n; share < c.Shares[0]*.8-.002 || share > c.Shares[0]*1.2+.002 {
			t.Errorf("%s: a share of %.4f, want %.4f", c.Name, share, c.Shares[0])
		}
		if got, want := tokens[i]/counts[i], mean(c.Sizes); counts[i] > 1000 && (got < .93*want || got > 1.07*want) {
			t.Errorf("%s: %.2f tokens a sentence, want %.2f", c.Name, got, want)
		}
	}
}

// TestNothingKept: a stream takes no more memory the longer it goes on.
func TestNothingKept(t *testing.T) {
	s := New(Fitted(), 4)
	var set []uint64
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	for range 100_000 {
		set, _ = s.Next(set[:0])
	}
	if after := held(); after > before+1<<20 {
		t.Errorf("%d bytes, after 100,000 sentences %d", before, after)
	}
	runtime.KeepAlive(s)
}

// TestDistinct: none comes twice, and few are left out.
func TestDistinct(t *testing.T) {
	d := NewDistinct(New(Fitted(), 5), 50_000)
	seen := map[string]bool{}
	for range 50_000 {
		var b []byte
		for _, id := range d.Next(nil) {
			for range 8 {
				b, id = append(b, byte(id)), id>>8
			}
		}
		if seen[string(b)] {
			t.Fatal("a sentence comes twice")
		}
		seen[string(b)] = true
	}
	if d.Left > 2000 {
		t.Errorf("%d sentences are left out", d.Left)
	}
}

// TestGoTogether: sentences share pairs of rare words, and are like others, far more often than words drawn one by one.
func TestGoTogether(t *testing.T) {
	alone := *Fitted()
	alone.Components = slices.Clone(alone.Components)
	for i := range alone.Components {
		c := &alone.Components[i]
		c.Together, c.Copies.Share, c.Echoes.Share, c.Topics.Share, c.Templates.Share = 0, 0, 0, 0, 0
	}
	threshold := text.Threshold{Num: 3, Den: 5}
	pairs := func(m *Model) float64 {
		rows, tokens := numbered(New(m, 6), 20_000)
		return Met(rows, evenly(len(rows), 1000), tokens, threshold, 2)
	}
	if with, without := pairs(Fitted()), pairs(&alone); with < 3*without {
		t.Errorf("%.3g entries met with keys of two tokens, %.3g where words are drawn one by one", with, without)
	}
}

// TestMet compares with the definition.
func TestMet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var rows [][]uint32
	for range 300 {
		set := map[uint32]bool{}
		for range 2 + r.IntN(8) {
			set[uint32(r.IntN(1+r.IntN(40)))] = true
		}
		var row []uint32
		for token := range set {
			row = append(row, token)
		}
		rows = append(rows, row)
	}
	asked := evenly(len(rows), 50)
	for _, threshold := range []text.Threshold{{Num: 3, Den: 5}, {Num: 4, Den: 5}} {
		for _, l := range []int{1, 2} {
			if got, want := Met(rows, asked, 40, threshold, l), metByDefinition(rows, asked, threshold, l); got != want {
				t.Errorf("θ %v, keys of %d: %v entries, want %v", threshold, l, got, want)
			}
		}
	}
}

// metByDefinition compares each asked row with each other: the keys that both have.
func metByDefinition(rows [][]uint32, asked []int, threshold text.Threshold, l int) float64 {
	frequency := make([]uint32, 40)
	for row, set := range rows {
		if !slices.Contains(asked, row) {
			for _, token := range set {
				frequency[token]++
			}
		}
	}
	m := meter{threshold: threshold, keyTokens: l, frequency: frequency}
	met := 0
	for _, a := range asked {
		low, high := text.Jaccard.At(threshold).Sizes(len(rows[a]))
		x := slices.Clone(m.rarest(rows[a]))
		for row, set := range rows {
			if slices.Contains(asked, row) || len(set) < low || len(set) > high {
				continue
			}
			common := 0
			for _, token := range m.rarest(set) {
				if slices.Contains(x, token) {
					common++
				}
			}
			if l == 2 {
				common = common * (common - 1) / 2
			}
			met += common
		}
	}
	return float64(met) / float64(len(asked))
}

func evenly(rows, n int) (asked []int) {
	for i := range n {
		asked = append(asked, i*rows/n)
	}
	return asked
}

func numbered(s *Stream, rows int) (sets [][]uint32, tokens int) {
	numbers := map[uint64]uint32{}
	for range rows {
		ids, _ := s.Next(nil)
		set := make([]uint32, len(ids))
		for i, id := range ids {
			if _, ok := numbers[id]; !ok {
				numbers[id] = uint32(len(numbers))
			}
			set[i] = numbers[id]
		}
		sets = append(sets, set)
	}
	return sets, len(numbers)
}

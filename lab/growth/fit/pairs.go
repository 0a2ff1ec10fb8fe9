package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"refrain/text"
)

// pairStats say how sentences of a component go together, a sentence on the average.
type pairStats struct {
	vocabulary  float64
	near, close [3]float64 // pairs by Jaccard: from .4, from .6, from .8; with a sentence not far away, and far away
	keys        [2]float64 // entries met with keys of two tokens, of a size that fits, at .8 and .6
	lists       [2]float64 // with keys of one
}

func (s *pairStats) String() string {
	return fmt.Sprintf("vocabulary %.0f near %.3f close %.3f keys %.2f lists %.1f", s.vocabulary, s.near, s.close, s.keys, s.lists)
}

const (
	asked  = 1000
	isNear = 32 // a sentence is near within so great a part of all
)

// measure takes so many sentences of a component evenly and compares them with all.
func measure(rows [][]uint32) *pairStats {
	s := &pairStats{}
	numbers := 0
	for _, set := range rows {
		for _, t := range set {
			numbers = max(numbers, int(t)+1)
		}
	}
	df := make([]uint32, numbers)
	for _, set := range rows {
		for _, t := range set {
			df[t]++
		}
	}
	for _, n := range df {
		if n > 0 {
			s.vocabulary++
		}
	}
	s.similar(rows, df)
	for i, t := range []text.Threshold{{Num: 4, Den: 5}, {Num: 3, Den: 5}} {
		s.entries(rows, df, t, i)
	}
	return s
}

// measureBoth is the geometric mean of what is measured of all rows and of the first eighth: what grows with the rows should do
// so at the right pace.
func measureBoth(rows [][]uint32) *pairStats {
	s, few := measure(rows), measure(rows[:len(rows)/8])
	both := func(a *float64, b float64) { *a = math.Sqrt(max(*a, 1e-4) * max(b, 1e-4)) }
	both(&s.vocabulary, few.vocabulary)
	for i := range s.near {
		both(&s.near[i], few.near[i])
		both(&s.close[i], few.close[i])
	}
	for i := range s.keys {
		both(&s.keys[i], few.keys[i])
		both(&s.lists[i], few.lists[i])
	}
	return s
}

// listsOf are the entries of a list that a sentence of each component meets among the first rows of all, at 0.6.
func listsOf(c *collection, rows, parts int) []float64 {
	t := text.Threshold{Num: 3, Den: 5}
	df := make([]uint32, c.total)
	for row := range rows {
		for _, n := range c.set(row) {
			df[n]++
		}
	}
	posted := make([][257]uint32, c.total)
	var prefix []uint32
	rarest := func(set []uint32) []uint32 {
		prefix = append(prefix[:0], set...)
		slices.SortFunc(prefix, func(a, b uint32) int { return cmp.Or(cmp.Compare(df[a], df[b]), cmp.Compare(a, b)) })
		least, _ := t.Sizes(len(set))
		return prefix[:len(set)-least+1]
	}
	for row := range rows {
		set := c.set(row)
		for _, n := range rarest(set) {
			posted[n][len(set)]++
		}
	}
	sums, counts := make([]float64, parts), make([]float64, parts)
	for row := 0; row < rows; row += 20 {
		set, part := c.set(row), c.of[row]
		counts[part]++
		low, high := t.Sizes(len(set))
		for _, n := range rarest(set) {
			for m := low; m <= min(high, 256); m++ {
				sums[part] += float64(posted[n][m])
			}
		}
	}
	for i := range sums {
		sums[i] /= max(1, counts[i])
	}
	return sums
}

// similar counts pairs by their Jaccard.
func (s *pairStats) similar(rows [][]uint32, df []uint32) {
	lists := make([][]uint32, len(df))
	for row, set := range rows {
		for _, t := range set {
			if lists[t] == nil {
				lists[t] = make([]uint32, 0, df[t])
			}
			lists[t] = append(lists[t], uint32(row))
		}
	}
	common := make([]uint16, len(rows))
	var met []uint32
	n := min(asked, len(rows))
	for q := range n {
		row := (2*q + 1) * len(rows) / (2 * n)
		met = met[:0]
		for _, t := range rows[row] {
			for _, r := range lists[t] {
				if common[r] == 0 {
					met = append(met, r)
				}
				common[r]++
			}
		}
		for _, r := range met {
			both := float64(common[r])
			common[r] = 0
			jaccard := both / (float64(len(rows[row])+len(rows[r])) - both)
			if int(r) == row || jaccard < .4 {
				continue
			}
			at := &s.close
			if int(math.Abs(float64(int(r)-row))) < len(rows)/isNear {
				at = &s.near
			}
			for i, least := range []float64{.4, .6, .8} {
				if jaccard >= least-1e-9 {
					at[i] += 1 / float64(n)
				}
			}
		}
	}
}

// entries counts what a look-up meets.
func (s *pairStats) entries(rows [][]uint32, df []uint32, t text.Threshold, at int) {
	type key struct{ a, b uint32 }
	one, two := map[uint32]*[257]uint32{}, map[key]*[257]uint32{}
	n := min(asked, len(rows))
	var prefix []uint32
	rarest := func(set []uint32, l int) []uint32 {
		prefix = append(prefix[:0], set...)
		slices.SortFunc(prefix, func(a, b uint32) int {
			if df[a] != df[b] {
				return int(df[a]) - int(df[b])
			}
			return int(a) - int(b)
		})
		least, _ := t.Sizes(len(set))
		return prefix[:min(len(set), len(set)-least+l)]
	}
	each := func(set []uint32, single func(uint32), double func(key)) {
		for _, x := range rarest(set, 1) {
			single(x)
		}
		p := rarest(set, 2)
		for i := range p {
			for k := range i {
				double(key{p[k], p[i]})
			}
		}
	}
	isAsked := func(q int) int { return (2*q + 1) * len(rows) / (2 * n) }
	for q := range n {
		each(rows[isAsked(q)], func(x uint32) { one[x] = new([257]uint32) }, func(k key) { two[k] = new([257]uint32) })
	}
	for _, set := range rows {
		each(set, func(x uint32) {
			if h := one[x]; h != nil {
				h[len(set)]++
			}
		}, func(k key) {
			if h := two[k]; h != nil {
				h[len(set)]++
			}
		})
	}
	for q := range n {
		set := rows[isAsked(q)]
		low, high := t.Sizes(len(set))
		sum := func(h *[257]uint32) (all float64) {
			for m := low; m <= min(high, 256); m++ {
				all += float64(h[m])
			}
			return all - 1 // itself
		}
		each(set, func(x uint32) { s.lists[at] += sum(one[x]) / float64(n) }, func(k key) { s.keys[at] += sum(two[k]) / float64(n) })
	}
}

package main

import (
	"fmt"
	"math"

	"refrain/lab/bench/peers/searchers"
	"refrain/lab/growth"
	"refrain/text"
)

// pairStats say how sentences of a component go together, a sentence on the average.
type pairStats struct {
	vocabulary float64
	near, far  [3]float64 // pairs by Jaccard: from .4, from .6, from .8; with a sentence not far away, and far away
	keys       [2]float64 // entries met with keys of two tokens, of a size that fits, at .8 and .6
	lists      [2]float64 // with keys of one
}

func (s *pairStats) String() string {
	return fmt.Sprintf("vocabulary %.0f near %.3f far %.3f keys %.2f lists %.1f", s.vocabulary, s.near, s.far, s.keys, s.lists)
}

// topical is how many of the pairs that are near and between 0.4 and 0.8 are above 0.6, as a ratio.
func (s *pairStats) topical() float64 { return (s.near[1] - s.near[2]) / (s.near[0] - s.near[1]) }

// distance is how far made-up sentences are from the real ones: the sum of the squared logarithms of what is measured.
func (s *pairStats) distance(made *pairStats) (sum float64) {
	add := func(real, made float64) { sum += math.Pow(math.Log((made+.01)/(real+.01)), 2) }
	for i := range s.near {
		add(s.near[i], made.near[i])
		add(s.far[i], made.far[i])
	}
	for i := range s.keys {
		add(s.keys[i], made.keys[i])
		add(s.lists[i], made.lists[i])
	}
	return sum
}

var thresholds = [2]text.Threshold{{Num: 4, Den: 5}, {Num: 3, Den: 5}}

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
	s.similar(rows, df, asked)
	askedRows := searchers.EvenRows(len(rows), min(asked, len(rows)))
	for i, t := range thresholds {
		s.lists[i], s.keys[i] = growth.Met(rows, askedRows, numbers, t, 1), growth.Met(rows, askedRows, numbers, t, 2)
	}
	return s
}

// measureBoth is the geometric mean of what is measured of all rows and of the first eighth: what grows with the rows
// should do so at the right pace.
func measureBoth(rows [][]uint32) *pairStats {
	s, few := measure(rows), measure(rows[:len(rows)/8])
	both := func(a *float64, b float64) { *a = math.Sqrt(max(*a, 1e-4) * max(b, 1e-4)) }
	both(&s.vocabulary, few.vocabulary)
	for i := range s.near {
		both(&s.near[i], few.near[i])
		both(&s.far[i], few.far[i])
	}
	for i := range s.keys {
		both(&s.keys[i], few.keys[i])
		both(&s.lists[i], few.lists[i])
	}
	return s
}

// listsOf are the entries of a list that a sentence of each component meets among the first rows of all, at 0.6.
func listsOf(c *collection, rows, parts int) (met []float64) {
	sets := make([][]uint32, rows)
	asked := make([][]int, parts)
	for row := range sets {
		sets[row] = c.set(row)
		if row%20 == 0 {
			asked[c.of[row]] = append(asked[c.of[row]], row)
		}
	}
	for part := range parts {
		met = append(met, growth.Met(sets, asked[part], c.total, thresholds[1], 1))
	}
	return met
}

// alike is the number of pairs of 0.8 and more that a sentence makes among the first rows of all: the geometric mean of
// what it is in small and in large windows, since it goes up and down in the course of a feed.
func alike(c *collection) float64 {
	product := 1.0
	for _, rows := range alikeRows {
		sets, df := make([][]uint32, rows), make([]uint32, c.total)
		for row := range sets {
			sets[row] = c.set(row)
			for _, t := range sets[row] {
				df[t]++
			}
		}
		var s pairStats
		s.similar(sets, df, alikeAsked)
		product *= s.near[2] + s.far[2]
	}
	return math.Sqrt(product)
}

var alikeRows = [2]int{200_000, 800_000}

const alikeAsked = 4000

// similar counts pairs by their Jaccard.
func (s *pairStats) similar(rows [][]uint32, df []uint32, asked int) {
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
			at := &s.far
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

package main

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"refrain/lab/growth"
)

const sliceRows = 50_000

// begin fits what can be read off: sizes, shares, the law of the tokens.
func begin(real *collection) *growth.Model {
	m := &growth.Model{
		SliceRows: sliceRows, Command: "go run ./lab/growth/fit",
		Data: "stream/*.jsonl*, distinct sentences mixed in proportion",
	}
	slicesOf := (len(real.of) + sliceRows/2) / sliceRows
	for part, name := range real.parts {
		_, script, _ := strings.Cut(name, "/")
		c := growth.Component{Name: name, Script: script, Shares: make([]float64, slicesOf)}
		for row, p := range real.of {
			if int(p) == part {
				c.Shares[min(row/sliceRows, slicesOf-1)]++
			}
		}
		rows := real.rowsOf(part)
		c.Rows = len(rows)
		c.Sizes = sizesOf(rows)
		c.Curve = curveOf(rows, real.total, 1)
		c.Together = .2
		c.Copies, c.Echoes = growth.Copies{Share: .1, Keep: .9}, growth.Copies{Share: .05, Keep: .3}
		c.Topics = growth.Topics{Copies: growth.Copies{Share: .25, Keep: .7}, Every: 10}
		c.Templates = growth.Templates{Copies: growth.Copies{Share: .25, Keep: .7}, Offset: 500}
		m.Components = append(m.Components, c)
	}
	for s := range slicesOf {
		sum := 0.0
		for i := range m.Components {
			sum += m.Components[i].Shares[s]
		}
		for i := range m.Components {
			m.Components[i].Shares[s] = round(m.Components[i].Shares[s] / sum)
		}
	}
	return m
}

// round leaves four digits.
func round(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-3)
	return math.Round(x/unit) * unit
}

func sizesOf(rows [][]uint32) (shares []float64) {
	for _, set := range rows {
		for len(shares) <= len(set) {
			shares = append(shares, 0)
		}
		shares[len(set)]++
	}
	for n := range shares {
		shares[n] = round(shares[n] / float64(len(rows)))
	}
	return shares
}

// curveOf fits Zipf's law: the shares of the tokens that are met often enough, and the power of the tail with which the
// vocabulary is the real one, times a factor.
func curveOf(rows [][]uint32, numbers int, factor float64) growth.Curve {
	counts := make([]int, numbers)
	for _, set := range rows {
		for _, t := range set {
			counts[t]++
		}
	}
	slices.SortFunc(counts, func(a, b int) int { return cmp.Compare(b, a) })
	vocabulary, often := 0, 0
	for _, n := range counts {
		if n > 0 {
			vocabulary++
		}
		if n >= minCount {
			often++
		}
	}
	// A token is once in a sentence: what would be drawn so often that it is in so many.
	draws := make([]float64, vocabulary)
	sum := 0.0
	for i := range draws {
		draws[i] = -math.Log(1 - min(float64(counts[i])/float64(len(rows)), .95))
		sum += draws[i]
	}
	var c growth.Curve
	for rank := 1; rank <= often; rank = max(rank+1, int(float64(rank)*1.3)) {
		low, high := int(float64(rank)/1.1), min(int(float64(rank)*1.1), often-1)
		mean := 0.0
		for i := max(low-1, 0); i < max(high, rank); i++ {
			mean += draws[i]
		}
		c.Ranks = append(c.Ranks, rank)
		c.Shares = append(c.Shares, round(mean/float64(max(high, rank)-max(low-1, 0))/sum))
	}
	last := c.Ranks[len(c.Ranks)-1]
	c.Tail = tail(float64(last), c.Shares[len(c.Shares)-1]*sum*float64(len(rows)), float64(vocabulary)*factor-float64(last))
	return c
}

const minCount = 6

// tail is the power with which, behind a rank whose token is drawn so many times, so many tokens are drawn at least once.
func tail(rank, times, tokens float64) float64 {
	low, high := 1.02, 30.0
	for range 60 {
		mid := (low + high) / 2
		if met(rank, times, mid) > tokens {
			low = mid
		} else {
			high = mid
		}
	}
	return round(low)
}

// met is the number of tokens behind a rank that are drawn at least once.
func met(rank, times, power float64) (n float64) {
	for r, step := rank, 0.0; r < 1e13; r += step {
		step = max(1, r/50)
		n += step * -math.Expm1(-times*math.Pow((r+step/2)/rank, -power))
	}
	return n
}

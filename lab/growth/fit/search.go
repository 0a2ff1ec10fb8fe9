package main

import (
	"context"
	"math"
	"slices"

	"refrain/lab/growth"
)

const maxRows = 300_000

// fitPart makes sentences up, compares them with the real ones, and changes what makes them go together.
func fitPart(ctx context.Context, m *growth.Model, real *collection, part, rounds int) error {
	c := &m.Components[part]
	rows := real.rowsOf(part)
	want := measureBoth(rows[:min(len(rows), maxRows)])
	logf("%s: %d rows\n  real    %s", c.Name, c.Rows, want)
	factor, curve := 1.0, c.Curve
	best, nearest := *c, math.Inf(1)
	c.Curve.Shares = slices.Clone(curve.Shares)
	for n := range rounds {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		made := makeUp(m, part, min(len(rows), maxRows))
		got := measureBoth(made)
		logf("  made up %s\n    %.4g %+v %+v %+v %+v tail %.4g",
			got, c.Together, c.Copies, c.Echoes, c.Topics, c.Templates, c.Curve.Tail)
		if d := want.distance(got); d < nearest {
			nearest, best = d, *c
			best.Curve.Shares = slices.Clone(c.Curve.Shares)
		}
		if n == rounds-1 {
			break
		}
		c.Together = round(min(.7, c.Together*ratio(want.keys[1], got.keys[1], .7)))
		c.Copies.Share = round(min(.3, c.Copies.Share*ratio(want.near[2], got.near[2], .7)))
		c.Echoes.Share = round(min(.35, max(.01, c.Echoes.Share*ratio(want.lists[1], got.lists[1], 1.5))))
		c.Topics.Every = round(max(1, c.Topics.Every*ratio(want.near[0]-want.near[1], got.near[0]-got.near[1], .8)))
		c.Topics.Keep = kept(c.Topics.Keep, want.topical(), got.topical())
		c.Templates.Offset = round(max(1, c.Templates.Offset/ratio(want.far[0], got.far[0], .8)))
		c.Templates.Keep = kept(c.Templates.Keep, want.far[1]/want.far[0], got.far[1]/got.far[0])
		factor *= ratio(want.vocabulary, got.vocabulary, .7)
		adjust(c, curve, made, factor)
	}
	*c = best
	logf("  the best    %.4g %+v %+v %+v %+v", c.Together, c.Copies, c.Echoes, c.Topics, c.Templates)
	return nil
}

// adjust changes the law of the tokens so that the sentences made of it follow the real one: what makes tokens go together
// changes it a little.
func adjust(c *growth.Component, want growth.Curve, made [][]uint32, factor float64) {
	numbers := 0
	for _, set := range made {
		for _, t := range set {
			numbers = max(numbers, int(t)+1)
		}
	}
	got := curveOf(made, numbers, 1)
	for i, rank := range c.Curve.Ranks {
		if i < len(got.Ranks) && rank == got.Ranks[i] {
			c.Curve.Shares[i] = round(c.Curve.Shares[i] * ratio(want.Shares[i], got.Shares[i], .6))
		}
	}
	c.Curve.Tail = round(1 + (want.Tail-1)/factor)
}

// kept changes the share of kept tokens so that a ratio of pairs that are nearer to pairs that are less near becomes the
// real one.
func kept(keep, want, got float64) float64 {
	return round(1 - min(.42, max(.05, (1-keep)*ratio(got, want, .25))))
}

// ratio is how much is wanting, dampened and within limits.
func ratio(want, got, power float64) float64 {
	if math.IsNaN(want) || math.IsNaN(got) || want <= 0 {
		return 1
	}
	return min(2.5, max(.4, math.Pow(want/max(got, want/1000), power)))
}

// makeUp makes so many distinct sentences of one component.
func makeUp(m *growth.Model, part, n int) (rows [][]uint32) {
	alone := *m
	alone.Components = append([]growth.Component(nil), m.Components...)
	for i := range alone.Components {
		alone.Components[i].Shares = []float64{0}
		if i == part {
			alone.Components[i].Shares = []float64{1}
		}
	}
	s := growth.New(&alone, 7)
	numbers := map[uint64]uint32{}
	var ids []uint64
	for len(rows) < n {
		ids, _ = s.Next(ids[:0])
		set := make([]uint32, len(ids))
		for i, id := range ids {
			number, ok := numbers[id]
			if !ok {
				number = uint32(len(numbers))
				numbers[id] = number
			}
			set[i] = number
		}
		rows = append(rows, set)
	}
	return rows
}

// fitSpread finds how far the ranks of a component are from those of its script: such that its tokens are as frequent in the
// script as they really are, in the mean of the logarithms.
func fitSpread(m *growth.Model, real *collection) {
	for range 2 {
		for i := range m.Components {
			c := &m.Components[i]
			if largest(m, c.Script) == i {
				continue
			}
			want := commonness(real, m, i)
			low, high := 0.0, 4.0
			for range 7 {
				c.Spread = (low + high) / 2
				if growth.Commonness(m, i) > want {
					low = c.Spread
				} else {
					high = c.Spread
				}
			}
			c.Spread = round(c.Spread)
			logf("%s: spread %.3g, commonness %.4g (real %.4g)", c.Name, c.Spread, growth.Commonness(m, i), want)
		}
	}
}

// fitMixture lets components share more or fewer tokens until what a look-up meets in the lists of all is as real.
func fitMixture(ctx context.Context, m *growth.Model, real *collection, rounds int) error {
	rows := mixtureRows
	want := listsOf(real, rows, len(m.Components))
	for range rounds {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		got := listsOf(madeUp(m, rows), rows, len(m.Components))
		for i := range m.Components {
			c := &m.Components[i]
			logf("%s: lists of all %.1f (real %.1f), spread %.3g", c.Name, got[i], want[i], c.Spread)
			if largest(m, c.Script) != i {
				c.Spread = round(min(4, max(.05, c.Spread*ratio(got[i], want[i], 2))))
			}
		}
	}
	return nil
}

const mixtureRows = 400_000

// fitCopies makes as many of all sentences copies as it takes to have as many pairs of 0.8 and more as there really are.
func fitCopies(ctx context.Context, m *growth.Model, real *collection) error {
	want := alike(real)
	for range copiesRounds {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		got := alike(madeUp(m, alikeRows[1]))
		logf("pairs of 0.8 and more a sentence: %.4f (real %.4f)", got, want)
		for i := range m.Components {
			c := &m.Components[i].Copies
			c.Share = round(min(.3, c.Share*ratio(want, got, 1)))
		}
	}
	return nil
}

const copiesRounds = 2

// madeUp is a collection of the model.
func madeUp(m *growth.Model, rows int) *collection {
	c, s := &collection{}, growth.New(m, 7)
	numbers := map[uint64]uint32{}
	var ids []uint64
	for range rows {
		var part int
		ids, part = s.Next(ids[:0])
		c.add(part, ids, numbers)
	}
	return c
}

// largest is the component of a script that has most rows.
func largest(m *growth.Model, script string) int {
	best := -1
	for i := range m.Components {
		if c := &m.Components[i]; c.Script == script && (best < 0 || c.Rows > m.Components[best].Rows) {
			best = i
		}
	}
	return best
}

// commonness is the mean logarithm of the share that a component's tokens have of their script's.
func commonness(real *collection, m *growth.Model, part int) (mean float64) {
	own, all := make([]float64, real.total), make([]float64, real.total)
	owns, alls := 0.0, 0.0
	for row, p := range real.of {
		if m.Components[p].Script != m.Components[part].Script {
			continue
		}
		for _, t := range real.set(row) {
			all[t]++
			alls++
			if int(p) == part {
				own[t]++
				owns++
			}
		}
	}
	for t, n := range own {
		if n > 0 {
			mean += n / owns * math.Log(all[t]/alls)
		}
	}
	return mean
}

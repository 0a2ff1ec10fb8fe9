package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"refrain/feed"
	"refrain/internal/units"
	"refrain/lab/bench/peers/searchers"
	"refrain/lab/cpu"
	"refrain/lab/growth"
	"refrain/lab/report"
	"refrain/text"
)

// LikenessOptions are what Likeness asks besides.
type LikenessOptions struct {
	Rows       []int // sizes of the window
	Thresholds []string
	Lookups    int
	Seed       uint64
}

// DefaultLikeness is the table's.
func DefaultLikeness() LikenessOptions {
	return LikenessOptions{
		Rows: []int{100_000, 200_000, 400_000, 800_000, 1_200_000}, Thresholds: []string{"0.8", "0.6"}, Lookups: 10_000, Seed: 1,
	}
}

// QuickLikeness is a quick run's.
func QuickLikeness() LikenessOptions {
	o := DefaultLikeness()
	o.Rows, o.Lookups = []int{1000, 10_000}, 500
	return o
}

func (o *LikenessOptions) validate() error {
	return errors.Join(wantPositive("rows", o.Rows...), wantSome("thresholds", o.Thresholds),
		wantPositive("lookups", o.Lookups))
}

// LikenessFigure is a size at a threshold: what a look-up costs among real sentences, and among made-up ones.
type LikenessFigure struct {
	Threshold string `json:"threshold"`
	Rows      int    `json:"rows"`
	Real      Cost   `json:"real"`
	MadeUp    Cost   `json:"madeUp"`
}

// Cost is what a look-up of the prefix engine costs, on the average.
type Cost struct {
	Lists      float64 `json:"lists"` // entries of a size that fits, met with keys of one token
	Pairs      float64 `json:"pairs"` // with keys of two
	Candidates float64 `json:"candidates"`
	Matches    float64 `json:"matches"`
	Lookup     float64 `json:"lookup"` // µs of processor time
}

// Likeness compares look-ups among made-up sentences with look-ups among real ones.
func Likeness(ctx context.Context, c *Config, o LikenessOptions) (*report.Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	list, err := thresholds(o.Thresholds)
	if err != nil {
		return nil, err
	}
	real, err := c.corpus(ctx, slices.Max(o.Rows)+o.Lookups)
	if err != nil {
		return nil, err
	}
	c.status("likeness: making sentences up")
	made := madeUp(real.len(), o.Seed)
	r := c.report("likeness",
		"Made-up sentences against the real ones that they are fitted to: a look-up of the prefix engine.", real.String())
	var all []LikenessFigure
	for _, t := range list {
		g := likenessGrid(t)
		for _, rows := range o.Rows {
			f := LikenessFigure{Threshold: decimal(t), Rows: min(rows, max(1, real.len()-o.Lookups))}
			c.status("likeness: θ %v, %s rows", t, units.Thousands(f.Rows))
			if f.Real, err = c.cost(ctx, real, t, f.Rows, o.Lookups); err == nil {
				f.MadeUp, err = c.cost(ctx, made, t, f.Rows, o.Lookups)
			}
			if err != nil {
				return nil, err
			}
			all = append(all, f)
			c.step("likeness: θ %s, %s rows: real %.4g, made up %.4g", f.Threshold, units.Thousands(f.Rows), f.Real, f.MadeUp)
			f.addTo(&g)
		}
		r.Grids = append(r.Grids, g)
	}
	r.Figures = all
	r.Note("real / made up; entries are of a size that fits, met in lists by one token, or by two of one token more")
	r.Note("%s look-ups, of sentences evenly taken from the first that many more than the window, which holds the others; "+
		"one run; seed %d", units.Thousands(o.Lookups), o.Seed)
	return r, nil
}

func likenessGrid(t text.Threshold) report.Grid {
	return report.Grid{Caption: "**θ " + decimal(t) + "**",
		Head: []string{"rows", "entries met, keys of one token", "keys of two", "candidates", "matches", "µs a look-up"}}
}

func (f *LikenessFigure) addTo(g *report.Grid) {
	both := func(of func(c *Cost) float64) string {
		real, made := of(&f.Real), of(&f.MadeUp)
		return fmt.Sprintf("%s / %s (%s)", units.Three(real), units.Three(made), units.Times(made/real))
	}
	row := []any{units.Thousands(f.Rows)}
	for _, of := range []func(c *Cost) float64{
		func(c *Cost) float64 { return c.Lists }, func(c *Cost) float64 { return c.Pairs },
		func(c *Cost) float64 { return c.Candidates }, func(c *Cost) float64 { return c.Matches },
		func(c *Cost) float64 { return c.Lookup },
	} {
		row = append(row, both(of))
	}
	g.Add(row...)
}

// madeUp is so many made-up sentences.
func madeUp(sentences int, seed uint64) *corpus {
	c, stream := &corpus{}, growth.NewDistinct(growth.New(growth.Fitted(), seed), sentences)
	var set []uint64
	for range sentences {
		set = stream.Next(set[:0])
		c.add(set, feed.GroupHash(set), "")
	}
	return c
}

// cost fills a window with the first sentences but those that are looked up then, evenly taken.
func (c *Config) cost(ctx context.Context, s *corpus, t text.Threshold, rows, lookups int) (k Cost, err error) {
	all := min(rows+lookups, s.len())
	asked := searchers.EvenRows(all, min(lookups, all/2))
	e, err := c.engine("prefix")
	if err != nil {
		return k, err
	}
	w, err := newWindowGrowth(t, e)
	if err != nil {
		return k, err
	}
	var sets [][]uint64
	for row, next := 0, 0; row < all; row++ {
		if next < len(asked) && asked[next] == row {
			sets, next = append(sets, s.set(row)), next+1
			continue
		}
		w.add(row, s.set(row))
	}
	if err := interrupted(ctx); err != nil {
		return k, err
	}
	n := float64(len(sets))
	begin := cpu.Time()
	k.Matches = float64(w.lookup(all, sets)) / n
	k.Lookup, k.Candidates = float64(cpu.Time()-begin)/1e3/n, float64(w.candidates())/n
	numbers, tokens := s.numbered(all)
	k.Lists, k.Pairs = growth.Met(numbers, asked, tokens, t, 1), growth.Met(numbers, asked, tokens, t, 2)
	return k, interrupted(ctx)
}

// numbered is the first sets, of numbers instead of ids.
func (c *corpus) numbered(rows int) (sets [][]uint32, tokens int) {
	numbers := map[uint64]uint32{}
	all := make([]uint32, 0, c.ends[rows-1])
	for i := range rows {
		first := len(all)
		for _, id := range c.set(i) {
			n, ok := numbers[id]
			if !ok {
				n = uint32(len(numbers))
				numbers[id] = n
			}
			all = append(all, n)
		}
		sets = append(sets, all[first:])
	}
	return sets, len(numbers)
}

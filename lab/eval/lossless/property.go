package lossless

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"refrain/hashcodes"
	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/eval/corpus"
	"refrain/lab/report"
	"refrain/text"
)

// PropertyFigure is what was found for one model at one threshold.
type PropertyFigure struct {
	Corpus    string  `json:"corpus"`
	Model     string  `json:"model"`
	Threshold string  `json:"threshold"`
	Pairs     int     `json:"pairs"`
	Outside   int     `json:"outside"` // pairs farther apart than the radius, or that counters leave out: it must be none
	AtRadius  int     `json:"atRadius"`
	Mean      float64 `json:"mean"` // distance / radius, of pairs with a radius above 0
}

// DefaultProperty is the table's: every model of the tables, and the program's own.
func DefaultProperty() Options {
	return Options{
		Corpora: []string{"ira", "weibo", "reuters"}, Bits: []int{32, 64}, Ones: []int{1, 2},
		Thresholds: []string{"0.5", "0.6", "0.7", "0.8", "0.9", "1"}, Learners: laterLearners,
		Further: []*hashcodes.Model{hashcodes.Default()},
	}
}

// Property checks that every two similar sentences of a corpus lie within the radius and pass each other's counters, under
// every model of the tables. The pairs come from a join without signatures. A pair that does not is an error.
func Property(ctx context.Context, c *eval.Config, o Options) (*report.Report, error) {
	o = o.sorted()
	list, err := o.ParseThresholds()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b text.Threshold) int { return cmp.Compare(a.Num*b.Den, b.Num*a.Den) })
	r := c.Report("lossless", "Every two similar sentences against the lossless radius and each other's counters, "+
		"under every model of the tables.", "")
	var all []PropertyFigure
	checked := 0
	for _, name := range o.Corpora {
		s, err := c.Read(ctx, name)
		if err != nil {
			return nil, err
		}
		models, err := tableModels(ctx, c, &o, name, s)
		if err != nil {
			return nil, err
		}
		p := newProperty(list, models, s)
		if err := p.run(ctx, c, name); err != nil {
			return nil, err
		}
		figures, err := p.figures(name)
		if err != nil {
			return nil, err
		}
		r.Grids, all = append(r.Grids, p.grid(name, figures)), append(all, figures...)
		if r.Data != "" {
			r.Data += ", "
		}
		r.Data += fmt.Sprintf("%s (%s distinct sentences)", name, units.Thousands(len(s.Sets)))
		for _, f := range figures {
			checked += f.Pairs
		}
	}
	r.Figures = all
	r.Note("**%s** checks of a pair under a model at a threshold, **0** exceptions", units.Thousands(checked))
	r.Note("pairs of distinct token sets, found once at the least threshold by a join without signatures (prefix, " +
		"length and positional filter, whole intersections); at θ 1 they are the repeats of a set, whose signature is " +
		"made anew from the tokens in another order")
	r.Note("cells: Hamming distance / radius, the mean over pairs with a radius above 0; 1 would be a radius that " +
		"every pair fills")
	r.Note("learned codes: name-m-l, learned for the threshold behind the @ from the earlier part of the corpus " +
		"(table `later`); where a learner that was allowed two ones states one, its model is that of l = 1")
	return r, nil
}

// checkedModel is a model with the name that the table has for it.
type checkedModel struct {
	name string
	*hashcodes.Model
}

// tableModels are those of table later: of each learner, for both thresholds. Each is there once.
func tableModels(ctx context.Context, c *eval.Config, o *Options, name string,
	s *corpus.Sentences) (all []checkedModel, err error) {
	earlier, _ := s.Split(share(name))
	t, size := newTrainer(c, earlier), sizesOf(c)
	for _, learner := range o.Learners {
		thresholds := []text.Threshold{{Num: 4, Den: 5}, {Num: 3, Den: 5}}
		if learner == "md5" {
			thresholds = thresholds[:1]
		}
		for _, threshold := range thresholds {
			for _, m := range o.Bits {
				models, err := t.models(ctx, size.spec(c, name, learner, m, 0, threshold), o.Ones)
				if err != nil {
					return nil, err
				}
				for i, model := range models {
					label := model.Name()
					if learner != "md5" {
						label += "@" + decimal(threshold)
					}
					if i == 0 || model.Model != models[i-1].Model {
						all = append(all, checkedModel{label, model.Model})
					}
				}
			}
		}
	}
	for _, m := range o.Further {
		all = append(all, checkedModel{"the program's own: " + m.Name(), m})
	}
	return all, nil
}

// property is the check of one corpus.
type property struct {
	thresholds []text.Threshold // ascending
	models     []checkedModel
	radii      []radii    // by threshold, of one bit a token
	sets       [][]uint64 // by rising size
	duplicates []int      // of each set, beyond the first
	signatures [][]uint32 // by model: of all sets, one after the other
	tallies    []tally    // by worker
	narrower   int        // bits taken off every radius: a test makes exceptions with it
}

// radii are r(n, k) of codes of one bit, by n and k.
type radii [hashcodes.MaxSize + 1][hashcodes.MaxSize + 1]int16

// tally is what one goroutine has counted.
type tally struct {
	pairs    []int    // by threshold
	cells    [][]cell // by model and threshold
	counters hashcodes.Counters
}

type cell struct {
	outside, atRadius, ratios int   // outside: or left out by counters
	sum                       int64 // of distance / radius, in parts of ratioUnit: integers add up alike in any order
	a, b                      int   // the first pair outside
}

const (
	ratioUnit = 1 << 20
	maxBits   = 256 // of a model
)

func newProperty(thresholds []text.Threshold, models []checkedModel, s *corpus.Sentences) *property {
	p := &property{thresholds: thresholds, models: models, radii: make([]radii, len(thresholds)),
		tallies: make([]tally, workers())}
	for i, t := range thresholds {
		for n := range p.radii[i] {
			for k := range p.radii[i][n] {
				p.radii[i][n][k] = int16(hashcodes.Radius(text.Jaccard.At(t), 1, n, k))
			}
		}
	}
	p.sort(s)
	for i := range p.tallies {
		p.tallies[i].pairs, p.tallies[i].counters = make([]int, len(thresholds)), make(hashcodes.Counters, maxBits)
		for range models {
			p.tallies[i].cells = append(p.tallies[i].cells, make([]cell, len(thresholds)))
		}
	}
	return p
}

// sort takes the sets by rising size, with how often each repeats.
func (p *property) sort(s *corpus.Sentences) {
	counts := make([]int, len(s.Sets))
	for _, g := range s.Groups {
		counts[g]++
	}
	order := make([]int, len(s.Sets))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(s.Sets[a]), len(s.Sets[b])) })
	for _, i := range order {
		p.sets, p.duplicates = append(p.sets, s.Sets[i]), append(p.duplicates, counts[i]-1)
	}
}

func (p *property) run(ctx context.Context, c *eval.Config, name string) error {
	c.Now("%s: signatures of %d models", name, len(p.models))
	p.sign()
	p.checkDuplicates()
	say := func(rows int) {
		c.Now("%s: partners of %s of %s sentences", name, units.Thousands(rows), units.Thousands(len(p.sets)))
	}
	return joinPairs(ctx, text.Jaccard.At(p.thresholds[0]), p.sets, len(p.tallies), say, func(worker int, a, b uint32, common int) {
		p.check(&p.tallies[worker], int(a), int(b), common)
	})
}

func (p *property) sign() {
	p.signatures = make([][]uint32, len(p.models))
	parallel(len(p.tallies), len(p.models), func(i int) {
		m := p.models[i]
		all := make([]uint32, len(p.sets)*m.Words())
		for row, set := range p.sets {
			m.Sign(all[row*m.Words():(row+1)*m.Words()], set)
		}
		p.signatures[i] = all
	})
}

// check compares the distance of a pair with the radius under every model and at every threshold that it reaches.
func (p *property) check(t *tally, a, b, common int) {
	n, k := len(p.sets[a]), len(p.sets[b])
	reached := 0
	for reached < len(p.thresholds) && text.Jaccard.At(p.thresholds[reached]).Reaches(common, n, k) {
		t.pairs[reached]++
		reached++
	}
	for i, m := range p.models {
		words := m.Words()
		sa, sb := p.signatures[i][a*words:(a+1)*words], p.signatures[i][b*words:(b+1)*words]
		passes := t.passes(m.Model, p.sets[a], p.sets[b], sa, sb, common) &&
			t.passes(m.Model, p.sets[b], p.sets[a], sb, sa, common)
		d := distanceOf(sa, sb)
		for at := range reached {
			t.cells[i][at].add(d, m.Ones()*int(p.radii[at][n][k])-p.narrower, passes, a, b)
		}
	}
}

// passes reports whether a query for x finds y, which has so many tokens in common with it: at the threshold that they just
// reach, so at any that they reach.
func (t *tally) passes(m *hashcodes.Model, x, y []uint64, sx, sy hashcodes.Signature, common int) bool {
	return m.Count(t.counters, x).Within(sx, sy, m.Ones()*(len(x)-common), m.Ones()*(len(y)-common))
}

// checkDuplicates checks the repeats of each set: of the one threshold that no two distinct sets reach.
func (p *property) checkDuplicates() {
	last := len(p.thresholds) - 1
	if p.thresholds[last].Num < p.thresholds[last].Den {
		return
	}
	t := &p.tallies[0]
	var mirrored []uint64
	for row, repeats := range p.duplicates {
		if repeats == 0 {
			continue
		}
		mirrored = append(mirrored[:0], p.sets[row]...)
		slices.Reverse(mirrored)
		t.pairs[last] += repeats
		n := len(mirrored)
		for i, m := range p.models {
			d := distanceOf(p.signatures[i][row*m.Words():(row+1)*m.Words()], m.Sign(make(hashcodes.Signature, m.Words()), mirrored))
			for range repeats {
				t.cells[i][last].add(d, m.Ones()*int(p.radii[last][n][n])-p.narrower, true, row, row)
			}
		}
	}
}

func distanceOf(a, b []uint32) (d int) {
	for i, w := range a {
		d += bits.OnesCount32(w ^ b[i])
	}
	return d
}

func (c *cell) add(distance, radius int, passes bool, a, b int) {
	if distance > radius || !passes {
		if c.outside == 0 || a < c.a || a == c.a && b < c.b {
			c.a, c.b = a, b
		}
		c.outside++
	}
	if distance == radius {
		c.atRadius++
	}
	if radius > 0 {
		c.ratios++
		c.sum += int64(distance) * ratioUnit / int64(radius)
	}
}

// figures adds the tallies up; a pair outside the radius is an error.
func (p *property) figures(name string) (all []PropertyFigure, err error) {
	for i, m := range p.models {
		for at, t := range p.thresholds {
			f := PropertyFigure{Corpus: name, Model: m.name, Threshold: decimal(t)}
			var sum cell
			for _, tally := range p.tallies {
				k := &tally.cells[i][at]
				f.Pairs += tally.pairs[at]
				if k.outside > 0 && (sum.outside == 0 || k.a < sum.a) {
					sum.a, sum.b = k.a, k.b
				}
				sum.outside += k.outside
				sum.atRadius += k.atRadius
				sum.ratios += k.ratios
				sum.sum += k.sum
			}
			f.Outside, f.AtRadius = sum.outside, sum.atRadius
			f.Mean = float64(sum.sum) / ratioUnit / float64(max(1, sum.ratios))
			if f.Outside > 0 && err == nil {
				err = fmt.Errorf("%s, θ %s, %s: %d of %d similar pairs are outside the radius or left out by counters, for "+
					"example token sets %x and %x",
					name, decimal(t), m.name, f.Outside, f.Pairs, p.sets[sum.a], p.sets[sum.b])
			}
			all = append(all, f)
		}
	}
	return all, err
}

func (p *property) grid(name string, figures []PropertyFigure) report.Grid {
	g := report.Grid{Caption: fmt.Sprintf("**%s**: %s distinct sentences, %d models", name, units.Thousands(len(p.sets)),
		len(p.models)), Head: []string{"model"}}
	pairs := []any{"pairs"}
	for at, t := range p.thresholds {
		g.Head = append(g.Head, "θ "+decimal(t))
		pairs = append(pairs, units.Thousands(figures[at].Pairs))
	}
	g.Head = append(g.Head, "exceptions")
	g.Add(append(pairs, "")...)
	for i, m := range p.models {
		row, outside := []any{m.name}, 0
		for at := range p.thresholds {
			f := figures[i*len(p.thresholds)+at]
			outside += f.Outside
			mean := "-"
			if f.Mean > 0 {
				mean = fmt.Sprintf("%.2f", f.Mean)
			}
			row = append(row, mean)
		}
		g.Add(append(row, outside)...)
	}
	return g
}

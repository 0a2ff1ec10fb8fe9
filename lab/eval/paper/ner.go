package paper

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"refrain/hashcodes"
	"refrain/hashcodes/train"
	"refrain/internal/units"
	"refrain/lab/eval"
	"refrain/lab/report"
)

// affinities of the table; 0 stands for the hashed codes, without classes.
var affinities = []float64{0.3, 0.4, 0.5, 0.6, 0.7, 0.9, 0}

// hashings are how many times the words are hashed anew: a few formulaic sentences are most of what is similar in news, and
// with one hashing chance decides on which side of d they lie.
const hashings = 8

// NERFigure is what classes of one least affinity do, the mean of all hashings.
type NERFigure struct {
	train.Merged
	Corpus     string    `json:"corpus"`
	Set        float64   `json:"set"`        // bits of a signature, of distinct sentences
	Apart      float64   `json:"apart"`      // distance of similar sentences that are no copies
	Candidates []float64 `json:"candidates"` // a query, by d
	Recall     []float64 `json:"recall"`     // by d, self-matches counted
	Change     []float64 `json:"change"`     // of the recall, from that of hashed codes
	Deviation  []float64 `json:"deviation"`  // of the change, from one hashing to the next
}

// NER shows what classes of words that occur together do to recall within a fixed distance, by the least affinity.
func NER(ctx context.Context, c *eval.Config) (*report.Report, error) {
	r := c.Report("ner", "The learner ner by the least affinity c: what classes do to signatures, and to what is found "+
		"within d, self-matches counted. m = 32, l = 2, cosine >= 0.8.", "")
	var all []NERFigure
	var data []string
	for _, name := range detailed {
		p, err := open(ctx, c, name)
		if err != nil {
			return nil, err
		}
		figures, err := p.nerFigures(ctx, c)
		if err != nil {
			return nil, err
		}
		r.Grids = append(r.Grids, nerGrids(name, figures)...)
		data, all = append(data, p.describe()), append(all, figures...)
	}
	r.Data, r.Figures = strings.Join(data, "; "), all
	r.Note("every figure is the mean of %d hashings of all words; ±: the standard deviation of a single hashing, of the "+
		"difference from md5 with the same one", eval.Size(c, hashings, 2))
	return r, nil
}

func nerGrids(name string, figures []NERFigure) []report.Grid {
	classes := report.Grid{Caption: "**" + name + "**", Head: []string{"c", "words in classes", "classes", "the largest",
		"bits of a signature", "distance of similar sentences that are no copies"}}
	candidates := report.Grid{Caption: "Candidates a sentence (recall):", Head: []string{"c"}}
	change := report.Grid{Caption: "Recall, in points, above or below that of md5:", Head: []string{"c"}}
	for d := range maxDistance + 1 {
		candidates.Head = append(candidates.Head, fmt.Sprintf("d = %d", d))
	}
	change.Head = candidates.Head
	for _, f := range figures {
		label := fmt.Sprintf("%g", f.Affinity)
		if f.Affinity == 0 {
			label = "md5"
		}
		classes.Add(label, f.Tokens, f.Classes, f.Largest, units.Three(f.Set), units.Three(f.Apart))
		found, changed := []any{label}, []any{label}
		for d := range f.Recall {
			found = append(found, fmt.Sprintf("%s (%.3f)", units.Three(f.Candidates[d]), f.Recall[d]))
			changed = append(changed, fmt.Sprintf("%+.1f ± %.1f", 100*f.Change[d], 100*f.Deviation[d]))
		}
		candidates.Add(found...)
		if f.Affinity > 0 {
			change.Add(changed...)
		}
	}
	return []report.Grid{classes, candidates, change}
}

// nerFigures learns with each least affinity, under several hashings.
func (p *collection) nerFigures(ctx context.Context, c *eval.Config) ([]NERFigure, error) {
	all := make([]NERFigure, len(affinities))
	n := eval.Size(c, hashings, 2)
	recall := make([][][]float64, len(affinities)) // by affinity, hashing and d
	for hashing := range n {
		q := p.rehashed(uint64(hashing))
		for i, affinity := range affinities {
			f, err := q.nerFigure(ctx, c, affinity, hashing)
			if err != nil {
				return nil, err
			}
			recall[i] = append(recall[i], f.Recall)
			all[i].add(&f, n)
		}
		c.Logf("ner: %s, hashing %d of %d is done", p.name, hashing+1, n)
	}
	for i := range all {
		for d := range maxDistance + 1 {
			mean, deviation := changes(recall[i], recall[len(recall)-1], d)
			all[i].Change, all[i].Deviation = append(all[i].Change, mean), append(all[i].Deviation, deviation)
		}
	}
	return all, nil
}

// changes is the mean of the differences between two recalls, and their standard deviation.
func changes(some, others [][]float64, d int) (mean, deviation float64) {
	n := float64(len(some))
	for i := range some {
		mean += (some[i][d] - others[i][d]) / n
	}
	for i := range some {
		deviation += math.Pow(some[i][d]-others[i][d]-mean, 2)
	}
	return mean, math.Sqrt(deviation / max(1, n-1))
}

// add adds a hashing to the mean of n.
func (f *NERFigure) add(one *NERFigure, n int) {
	if f.Corpus == "" {
		f.Merged, f.Corpus = one.Merged, one.Corpus
		f.Candidates, f.Recall = make([]float64, len(one.Recall)), make([]float64, len(one.Recall))
	}
	f.Set += one.Set / float64(n)
	f.Apart += one.Apart / float64(n)
	for d := range f.Recall {
		f.Candidates[d] += one.Candidates[d] / float64(n)
		f.Recall[d] += one.Recall[d] / float64(n)
	}
}

// nerFigure learns with one least affinity; 0: the hashed codes.
func (p *collection) nerFigure(ctx context.Context, c *eval.Config, affinity float64,
	hashing int) (f NERFigure, err error) {
	t := train.Default()
	t.Learner, t.Affinities = "ner", []float64{affinity}
	if affinity == 0 {
		t.Learner = "md5"
	}
	key := fmt.Sprintf("paper c=%g %s hashing %d", affinity, p.name, hashing)
	l, err := learnOf(ctx, c, p.name, key, t, func() (*train.Sample, error) {
		return train.Collect(p.withoutQueries(), eval.Size(c, learnFrom, quick.sentences), c.Seed), nil
	})
	if err != nil {
		return f, err
	}
	n, err := p.count(ctx, l.model)
	if err != nil {
		return f, err
	}
	if len(l.report.Merged) > 0 {
		f.Merged = l.report.Merged[0]
	}
	for d := range maxDistance + 1 {
		w := n.within(d, truth{self: true})
		f.Candidates = append(f.Candidates, float64(w.candidates)/float64(max(1, n.queries)))
		f.Recall = append(f.Recall, w.recall())
	}
	f.Corpus, f.Set, f.Apart = p.name, p.bitsSet(l.model), p.apart(l.model)
	return f, nil
}

// rehashed is the collection with other ids for its words, and so with other hashed codes; 0: the same.
func (p *collection) rehashed(seed uint64) *collection {
	if seed == 0 {
		return p
	}
	q, sentences := *p, *p.sentences
	sentences.Sets = make([][]uint64, len(p.sentences.Sets))
	for g, set := range p.sentences.Sets {
		other := make([]uint64, len(set))
		for i, token := range set {
			other[i] = mix(token + seed<<32)
		}
		slices.Sort(other)
		sentences.Sets[g] = other
	}
	q.sentences = &sentences
	return &q
}

// mix gives every number another, no two the same: the last steps of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// apart is the mean distance of the queries from the sentences that are similar but have other words.
func (p *collection) apart(m *hashcodes.Model) float64 {
	sum, n := 0, 0
	x, y := make(hashcodes.Signature, m.Words()), make(hashcodes.Signature, m.Words())
	for q, group := range p.queries {
		m.Sign(x, p.sentences.Sets[group])
		for _, near := range p.neighbours[q] {
			if near.group == group {
				continue
			}
			for w, word := range m.Sign(y, p.sentences.Sets[near.group]) {
				sum += p.weights[near.group] * bits.OnesCount32(word^x[w])
			}
			n += p.weights[near.group]
		}
	}
	return float64(sum) / float64(max(1, n))
}

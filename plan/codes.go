package plan

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"refrain/hashcodes"
	"refrain/text"
)

// FalseCost is how often hashed codes of a size bring a false candidate: a row whose signature lies within the lossless
// radius of a look-up's though the two are unlike.
type FalseCost struct {
	Bits       int           `json:"bits"`
	Ones       int           `json:"ones"`
	PerMillion []AtThreshold `json:"perMillion"` // false candidates of a look-up in 10⁶ rows, by threshold, ascending
}

// report is what models say of how they were measured (package train, and lab/defaultmodel).
type report struct {
	Ones       int `json:"ones_asked"`  // of the hashed codes that it compares with,
	BeforeOnes int `json:"ones_before"` // unless this says how many
	cell
	Measured []cell `json:"measured"` // at other thresholds too
}

// cell is a measurement at one threshold: the false candidates with hashed codes, and with the model's.
type cell struct {
	Threshold string `json:"threshold"`
	Before    count  `json:"before"`
	After     count  `json:"after"`
}

type count struct {
	False int `json:"false"`
}

// SetCodes plans for the signatures of a model. Learned codes are taken to have the share of the false candidates of hashed
// ones that the model itself reports; where it was measured at one threshold only, that share at all. A model that reports
// none is planned for as if its codes were hashed.
func (f *Feed) SetCodes(m *hashcodes.Model, c *Costs) {
	about := m.Description()
	f.Model, f.Bits, f.Ones, f.FalsePerMillion = m.Name(), about.Bits, about.Ones, nil
	var r report
	err := json.Unmarshal([]byte(about.TrainedOn), &r)
	shares := r.shares()
	if err != nil || len(shares) == 0 {
		return
	}
	for _, at := range c.hashed(about.Bits, cmp.Or(r.BeforeOnes, r.Ones)) {
		share := between(len(shares), at.Threshold, func(i int) (float64, float64) { return shares[i].Threshold, shares[i].Value })
		at.Value *= math.Exp(share)
		f.FalsePerMillion = append(f.FalsePerMillion, at)
	}
}

// shares are the logarithms of what is left of the false candidates, by threshold. One more in both counts keeps none from
// being a claim.
func (r *report) shares() (list []AtThreshold) {
	if len(r.Measured) == 0 {
		r.Measured = []cell{r.cell}
	}
	for _, m := range r.Measured {
		t, err := text.ParseThreshold(m.Threshold)
		if err == nil {
			list = append(list, AtThreshold{t.Float(), math.Log(float64(m.After.False+1) / float64(m.Before.False+1))})
		}
	}
	return list
}

// hashed is the row of hashed codes of a size.
func (c *Costs) hashed(bits, ones int) []AtThreshold { return rowOf(c.MD5, bits, ones) }

// rowOf is the row of codes of a size. Of ones that were not measured it is the next lower number's, a lower bound.
func rowOf(table []FalseCost, bits, ones int) (row []AtThreshold) {
	for _, f := range table {
		if f.Bits == bits && f.Ones <= ones {
			row = f.PerMillion
		}
	}
	return slices.Clone(row)
}

// falseMicros is what it takes to find that a candidate is false, where tokens have so many bits.
func (c *Costs) falseMicros(ones int) float64 {
	if ones > 1 {
		return c.MoreMicros
	}
	return c.FalseMicros
}

// falseIn is how many false candidates a look-up in so many rows has.
func (w *workload) falseIn(rows float64) float64 {
	table := w.feed.FalsePerMillion
	if len(table) == 0 {
		table = w.costs.hashed(w.feed.Bits, w.feed.Ones)
	}
	return rows / 1e6 * atThreshold(table, w.feed.jaccard())
}

// passingIn is how many of the false candidates pass the holders of a look-up.
func (w *workload) passingIn(rows float64) float64 {
	threshold := w.feed.jaccard()
	within := atThreshold(w.costs.hashed(w.feed.Bits, w.feed.Ones), threshold)
	passing := atThreshold(rowOf(w.costs.Passing, w.feed.Bits, w.feed.Ones), threshold)
	return w.falseIn(rows) * min(1, passing/max(within, 1e-9))
}

// atThreshold is the value at a threshold between those of a table, by the logarithm; 0 for an empty one.
func atThreshold(table []AtThreshold, threshold float64) float64 {
	if len(table) == 0 {
		return 0
	}
	return math.Exp(between(len(table), threshold, func(i int) (float64, float64) {
		return table[i].Threshold, math.Log(max(table[i].Value, 1e-9))
	}))
}

package train

import "math"

// A pair that lies e bits outside the radius costs 1/(1 + exp((e − ½)/T)): one inside nearly 1, one far outside
// nearly nothing. Near T = 0 that is the number of false candidates itself, which says nothing to a move that only
// brings a pair closer to the edge; as T falls from round to round, the loss goes from "far apart" to "outside".

const (
	deepest = 8                           // further inside the radius costs as much as this
	levels  = deepest + maxExcessBits + 2 // from so deep inside to one bit beyond maxExcessBits
	scale   = 1 << 16                     // costs are integers, so that their sums do not depend on the order
)

// loss holds, for the stratum of a pair and its level, how its weighted cost changes.
type loss struct {
	more [maxExcessBits + 1][levels]int64 // with one bit more of distance
	less [maxExcessBits + 1][levels]int64 // with one bit less
}

func newLoss(p *pairs, temperature float64) *loss {
	l := &loss{}
	for stratum, weight := range p.weight {
		w := float64(weight) * scale
		for level := range levels {
			e := float64(level - deepest)
			l.more[stratum][level] = int64(math.Round(w * (cost(e+1, temperature) - cost(e, temperature))))
			l.less[stratum][level] = int64(math.Round(w * (cost(e-1, temperature) - cost(e, temperature))))
		}
	}
	return l
}

func cost(e, temperature float64) float64 {
	if e > maxExcessBits {
		return 0 // pairs that begin there are not in the sample
	}
	return 1 / (1 + math.Exp((e-0.5)/temperature))
}

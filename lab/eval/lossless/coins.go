package lossless

import (
	"math"

	"refrain/text"
)

// coins is how many rows lie within the radius of the queries if every signature were so many fair coins, none telling of
// another: each pair of sizes that fit, times the chance that so many of the coins differ. No codes with
// independent bits that are as full in short sentences as in long ones let fewer through.
func (t *table) coins(m text.Measure, bits, ones int, queries [][]uint64) float64 {
	within := chances(bits)
	b := boundsOf(m)
	sum := 0.0
	for _, q := range queries {
		n, least := len(q), &b[len(q)]
		for k := least.min; k <= least.max; k++ {
			radius := ones * (n + k - 2*least.at(k))
			sum += float64(t.band[k+1]-t.band[k]) * within[min(radius, bits)]
		}
	}
	return sum
}

// chances are those that at most 0, 1, … of so many coins differ.
func chances(bits int) []float64 {
	within, each := make([]float64, bits+1), math.Pow(0.5, float64(bits)) // each: that just d differ
	sum := 0.0
	for d := range within {
		sum += each
		within[d] = sum
		each *= float64(bits-d) / float64(d+1)
	}
	return within
}

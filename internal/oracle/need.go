package oracle

import (
	"fmt"

	"refrain/text"
)

// reaches reports whether sets of n and k tokens, common of them shared, are similar enough, by the formula of the
// similarity, without a division or a root. Sentences have few enough tokens for the squares.
func reaches(m text.Measure, common, n, k int) bool {
	num, den := m.Threshold.Num, m.Threshold.Den
	switch m.Similarity {
	case text.Jaccard:
		return common*den >= num*(n+k-common)
	case text.Cosine:
		return common*common*den*den >= num*num*n*k
	case text.Dice:
		return 2*common*den >= num*(n+k)
	}
	panic(fmt.Sprintf("oracle: %v has no events", m))
}

// need is how many common tokens sets of two sizes need, by trying; more than the smaller size where none are enough.
type need [][]int

func newNeed(m text.Measure, largest int) need {
	of := make(need, largest+1)
	for n := range of {
		of[n] = make([]int, largest+1)
		for k := range of[n] {
			for of[n][k] = 1; of[n][k] <= min(n, k) && !reaches(m, of[n][k], n, k); {
				of[n][k]++
			}
		}
	}
	return of
}

// least is what a set of n tokens has in common at least with any that it needs of sizes from-to; n + 1 where it cannot be
// similar to one of them.
func (of need) least(n, from, to int) int {
	least := n + 1
	for k := from; k <= to; k++ {
		if of[n][k] <= min(n, k) {
			least = min(least, of[n][k])
		}
	}
	return least
}

// minSize is the least size that can be similar to n tokens.
func (of need) minSize(n int) int {
	k := 1
	for of[n][k] > k {
		k++
	}
	return k
}

package growth

import (
	"math"
	"sort"
)

// Curve is how frequent tokens are, the most frequent first: Zipf's law, as it is measured up to a rank and as a power
// beyond. The power decides how many tokens there are in so many sentences: Heaps' law, with the exponent 1/Tail.
type Curve struct {
	Ranks  []int     `json:"ranks"`  // from 1 on, ascending
	Shares []float64 `json:"shares"` // of all tokens, of the one at that rank; between two ranks a power
	Tail   float64   `json:"tail"`   // behind the last rank a token's share falls with this power of the rank
}

// headTokens are as many tokens as have a place of their own in memory; the others are computed.
const headTokens = 1 << 15

// at is the share of the token of a rank, from 1 on.
func (c *Curve) at(rank float64) float64 {
	n := len(c.Ranks)
	i := sort.SearchInts(c.Ranks, int(math.Ceil(rank)))
	switch {
	case i == n:
		return c.Shares[n-1] * math.Pow(rank/float64(c.Ranks[n-1]), -c.Tail)
	case i == 0:
		return c.Shares[0]
	}
	low, high := float64(c.Ranks[i-1]), float64(c.Ranks[i])
	slope := math.Log(c.Shares[i]/c.Shares[i-1]) / math.Log(high/low)
	return c.Shares[i-1] * math.Pow(rank/low, slope)
}

// beyond is the share of all tokens behind a rank, which is in the tail.
func (c *Curve) beyond(rank float64) float64 { return c.at(rank) * rank / (c.Tail - 1) }

// ranks draws ranks, from 0 on, by their shares.
type ranks struct {
	until []float64 // share of the tokens of a rank and all before it
	guide []int32   // the first rank of each of equal parts of all shares
	tail  float64
	head  float64
}

func (c *Curve) draws() *ranks {
	shares := make([]float64, headTokens)
	for i := range shares {
		shares[i] = c.at(float64(i + 1))
	}
	return newRanks(shares, c.beyond(headTokens), c.Tail)
}

func newRanks(shares []float64, beyond, tail float64) *ranks {
	r := &ranks{until: make([]float64, len(shares)), tail: tail}
	sum := beyond
	for _, s := range shares {
		sum += s
	}
	at := 0.0
	for i, s := range shares {
		at += s / sum
		r.until[i] = at
	}
	r.head = at
	r.guide = make([]int32, len(shares)+1)
	i := 0
	for g := range r.guide {
		for i < len(shares)-1 && r.until[i] < float64(g)/float64(len(shares)) {
			i++
		}
		r.guide[g] = int32(i)
	}
	return r
}

// rank is the one at a place between 0 and 1.
func (r *ranks) rank(u float64) uint64 {
	n := len(r.until)
	if u >= r.head {
		left := max((1-u)/(1-r.head), 1e-9)
		return uint64(float64(n) * math.Pow(left, -1/(r.tail-1)))
	}
	i := int(r.guide[int(u*float64(n))])
	for i < n-1 && r.until[i] <= u {
		i++
	}
	return uint64(i)
}

// behind is the share of a rank's token, half of it, and of all behind: what is left of 1.
func (r *ranks) behind(rank uint64) float64 {
	n := uint64(len(r.until))
	if rank >= n {
		return (1 - r.head) * math.Pow((float64(rank)+.5)/float64(n), 1-r.tail)
	}
	before := 0.0
	if rank > 0 {
		before = r.until[rank-1]
	}
	return 1 - (before+r.until[rank])/2
}

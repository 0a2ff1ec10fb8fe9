package oracle

import (
	"iter"

	"refrain/text"
)

// pair is two similar groups, a not the larger one; every group is similar to itself.
type pair struct {
	a, b   int32
	common int
}

// similar yields every pair of groups with J >= t once.
//
// Tokens are ordered, the rarest first. Let x have n tokens, y have m <= n, and let o of them be common.
// J >= t means o >= t/(1+t) (n+m) and m >= t n, hence o >= t n and o >= 2t/(1+t) m. The first common token
// has the o−1 other common ones behind it in both sets, so it is among the first n − ⌈t n⌉ + 1 of x and
// among the first m − ⌈2t/(1+t) m⌉ + 1 of y. Going through the groups from small to large, it is enough to
// look the first part up in lists of the second, then to count what is really common.
func (x *Index) similar(t text.Threshold) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		j := join{groups: x.groups, threshold: t,
			lists: map[int32][]int32{}, lastCompared: make([]int32, len(x.groups))}
		for g := range x.groups {
			if !j.step(int32(g), yield) {
				return
			}
		}
	}
}

// join is the state of similar.
type join struct {
	groups       []group // from small to large
	threshold    text.Threshold
	lists        map[int32][]int32 // token -> groups that have it in front, from small to large
	lastCompared []int32           // by group: the last group + 1 it was compared with
}

// step yields the pairs of g with the groups before it and with itself, then adds g to the lists.
func (j *join) step(g int32, yield func(pair) bool) bool {
	tokens := j.groups[g].tokens
	if len(tokens) == 0 {
		return true // J of two empty sets is undefined: never similar
	}
	n := len(tokens)
	for _, token := range tokens[:n-ceil(j.threshold.Num*n, j.threshold.Den)+1] {
		if !j.compare(g, j.live(token, n), yield) {
			return false
		}
	}
	for _, token := range tokens[:n-ceil(2*j.threshold.Num*n, j.threshold.Num+j.threshold.Den)+1] {
		j.lists[token] = append(j.lists[token], g)
	}
	return yield(pair{g, g, n})
}

// live returns the list of token without the groups too small for n tokens; they stay too small.
func (j *join) live(token int32, n int) []int32 {
	list := j.lists[token]
	minSize := ceil(j.threshold.Num*n, j.threshold.Den)
	tooSmall := 0
	for tooSmall < len(list) && len(j.groups[list[tooSmall]].tokens) < minSize {
		tooSmall++
	}
	if tooSmall > 0 {
		list = list[tooSmall:]
		j.lists[token] = list
	}
	return list
}

func (j *join) compare(g int32, list []int32, yield func(pair) bool) bool {
	n := len(j.groups[g].tokens)
	for _, other := range list {
		if j.lastCompared[other] == g+1 {
			continue
		}
		j.lastCompared[other] = g + 1
		m := len(j.groups[other].tokens)
		need := ceil(j.threshold.Num*(n+m), j.threshold.Num+j.threshold.Den)
		common := commonTokens(j.groups[g].tokens, j.groups[other].tokens, need)
		if reaches(j.threshold, common, n, m) && !yield(pair{other, g, common}) {
			return false
		}
	}
	return true
}

// commonTokens counts the tokens of both ascending lists; it gives up, with too small a count, when need is
// out of reach.
func commonTokens(a, b []int32, need int) int {
	common, i, k := 0, 0, 0
	for i < len(a) && k < len(b) && common+min(len(a)-i, len(b)-k) >= need {
		switch {
		case a[i] < b[k]:
			i++
		case a[i] > b[k]:
			k++
		default:
			common, i, k = common+1, i+1, k+1
		}
	}
	return common
}

func ceil(num, den int) int { return (num + den - 1) / den }

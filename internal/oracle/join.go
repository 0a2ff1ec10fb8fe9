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

// similar yields every pair of groups that are similar enough once.
//
// Tokens are ordered, the rarest first. Let o tokens of x and y be common, and let x need at least o' in common with
// whatever is similar to it. The first common token has the o−1 others behind it in both sets, so it is among the
// first n − o' + 1 of the n tokens of x; likewise in y. Going through the groups from small to large, x is similar to
// groups that are no larger when it looks its first tokens up in lists, and to groups that are no smaller once it is in
// the lists itself: what it needs differs. What is really common is then counted.
func (x *Index) similar(m text.Measure) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		j := join{groups: x.groups, lists: map[int32][]int32{}, lastCompared: make([]int32, len(x.groups))}
		if n := len(x.groups); n > 0 {
			j.largest = len(x.groups[n-1].tokens)
		}
		j.need = newNeed(m, j.largest)
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
	largest      int     // number of tokens
	need         need
	lists        map[int32][]int32 // token -> groups that have it in front, from small to large
	lastCompared []int32           // by group: the last group + 1 it was compared with
}

// step yields the pairs of g with the groups before it and with itself, then adds g to the lists.
func (j *join) step(g int32, yield func(pair) bool) bool {
	tokens := j.groups[g].tokens
	if len(tokens) == 0 {
		return true // never similar to anything
	}
	n := len(tokens)
	for _, token := range tokens[:n-j.need.least(n, 1, n)+1] {
		if !j.compare(g, j.live(token, n), yield) {
			return false
		}
	}
	for _, token := range tokens[:n-j.need.least(n, n, j.largest)+1] {
		j.lists[token] = append(j.lists[token], g)
	}
	return yield(pair{g, g, n})
}

// live returns the list of token without the groups too small for n tokens; they stay too small.
func (j *join) live(token int32, n int) []int32 {
	list := j.lists[token]
	minSize := j.need.minSize(n)
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
		need := j.need[n][m]
		common := commonTokens(j.groups[g].tokens, j.groups[other].tokens, need)
		if common >= need && !yield(pair{other, g, common}) {
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

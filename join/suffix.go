package join

import "sort"

// hammingBound is a lower bound of how many tokens only one of x and y has, or some number above limit where it is more than
// that ([PPJ] algorithm 3). It splits y in the middle and x at the same token, and knows that of each half; depth counts from
// 1, and below maxDepth the sizes alone are compared.
func hammingBound(x, y []uint32, limit, depth, maxDepth int) int {
	apart := max(len(x)-len(y), len(y)-len(x))
	if depth > maxDepth || apart > limit || len(x) == 0 || len(y) == 0 {
		return apart
	}
	mid := (len(y) - 1) / 2
	low, high := mid-(limit-apart)/2, mid+(limit-apart)/2
	if len(x) < len(y) {
		low -= apart
	} else {
		high += apart
	}
	at, both, ok := split(x, y[mid], low, high)
	if !ok {
		return limit + 1
	}
	behind, other := at, 1 // where the right half of x begins; y[mid] is in y alone
	if both {
		behind, other = at+1, 0
	}
	left, right := difference(at, mid), difference(len(x)-behind, len(y)-mid-1)
	if left+right+other > limit {
		return left + right + other
	}
	left = hammingBound(x[:at], y[:mid], limit-right-other, depth+1, maxDepth)
	if left+right+other > limit {
		return left + right + other
	}
	right = hammingBound(x[behind:], y[mid+1:], limit-left-other, depth+1, maxDepth)
	return left + right + other
}

// split finds the first token of s that is not less than w, and whether it is w ([PPJ] algorithm 4). It has to stand between
// low and high, or too many tokens are in one list alone. Beyond its ends s goes on with smaller and greater tokens: cutting
// low and high to its length instead, as printed, would turn similar sets away.
func split(s []uint32, w uint32, low, high int) (at int, both, ok bool) {
	if low >= len(s) || low >= 0 && s[low] > w || high < 0 || high < len(s) && s[high] < w {
		return 0, false, false
	}
	low, high = max(low, 0), min(high+1, len(s))
	at = low + sort.Search(high-low, func(i int) bool { return s[low+i] >= w })
	return at, at < len(s) && s[at] == w, true
}

func difference(a, b int) int { return max(a-b, b-a) }

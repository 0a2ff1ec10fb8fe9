package join

import "sort"

// hammingBound is a lower bound of how many tokens only one of x and y has, or some number above limit where it is more than
// that ([PPJ] algorithm 3). It splits y in the middle and x at the same token, and knows that of each half; depth counts from
// 1, and below maxDepth the sizes alone are compared.
func hammingBound(x, y []uint32, limit, depth, maxDepth int) int {
	apart := difference(len(x), len(y))
	if depth > maxDepth || apart > limit || len(x) == 0 || len(y) == 0 {
		return apart
	}
	mid := (len(y) - 1) / 2
	low, high := aligned(len(x), len(y), mid, limit)
	at, both, ok := split(x, y[mid], low, high)
	switch {
	case !ok:
		return limit + 1
	case both:
		return halvesBound([2][]uint32{x[:at], x[at+1:]}, [2][]uint32{y[:mid], y[mid+1:]}, 0, limit, depth, maxDepth)
	}
	return halvesBound([2][]uint32{x[:at], x[at:]}, [2][]uint32{y[:mid], y[mid+1:]}, 1, limit, depth, maxDepth) // y[mid] is in y alone
}

// aligned is where in a list of n tokens, from low to high, a token at mid of one of m has to stand: elsewhere more than limit
// tokens are in one list alone.
func aligned(n, m, mid, limit int) (low, high int) {
	apart := difference(n, m)
	low, high = mid-(limit-apart)/2, mid+(limit-apart)/2
	if n < m {
		return low - apart, high
	}
	return low, high + apart
}

// halvesBound is hammingBound of two lists by their halves, of which other tokens more are in one list alone.
func halvesBound(x, y [2][]uint32, other, limit, depth, maxDepth int) int {
	left, right := difference(len(x[0]), len(y[0])), difference(len(x[1]), len(y[1]))
	if left+right+other > limit {
		return left + right + other
	}
	left = hammingBound(x[0], y[0], limit-right-other, depth+1, maxDepth)
	if left+right+other > limit {
		return left + right + other
	}
	right = hammingBound(x[1], y[1], limit-left-other, depth+1, maxDepth)
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

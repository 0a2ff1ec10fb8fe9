package hashcodes

import "refrain/text"

// Radius is the largest Hamming distance that the signatures of two sets of n and m tokens can have when their
// Jaccard similarity is at least t; -1 when sets of these sizes cannot be that similar, or when one is empty.
//
// Every token of the symmetric difference sets at most ones bits that the other signature may lack, hence
// Hamming(S(x), S(y)) <= ones · |x Δ y|. J(x, y) >= t asks for an intersection of at least
// o = ceil(t/(1+t) · (n+m)), and |x Δ y| = n + m − 2 |x ∩ y| is largest when the intersection is just o.
// A scan with this radius therefore misses nothing, whatever the codes are.
func Radius(t text.Threshold, ones, n, m int) int {
	if n <= 0 || m <= 0 {
		return -1
	}
	overlap := t.Overlap(n, m)
	if overlap > min(n, m) {
		return -1
	}
	return ones * (n + m - 2*overlap)
}

package hashcodes

import "refrain/text"

// Radius is the largest Hamming distance that the signatures of two sets of n and k tokens can have when a measure takes
// them for similar enough; -1 when sets of these sizes cannot be that similar, or when one is empty.
//
// Every token of the symmetric difference sets at most ones bits that the other signature may lack, hence
// Hamming(S(x), S(y)) <= ones · |x Δ y|. And |x Δ y| = n + k − 2 |x ∩ y| is largest when the intersection is just the least
// that is enough: for Jaccard ceil(θ/(1+θ) · (n+k)) tokens, for the cosine ceil(θ √(n k)), for Dice ceil(θ/2 · (n+k)). A
// scan with this radius therefore misses nothing, whatever the codes are.
func Radius(m text.Measure, ones, n, k int) int {
	if n <= 0 || k <= 0 {
		return -1
	}
	overlap := m.MinOverlap(n, k)
	if overlap > min(n, k) {
		return -1
	}
	return ones * (n + k - 2*overlap)
}

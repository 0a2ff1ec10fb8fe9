// Package join finds all pairs of similar sets in one collection, or in two: exact set-similarity joins, in memory.
//
// A Collection is sets of tokens. Self and Two compare its sets by a text.Measure, Jaccard, cosine, Dice or overlap, and call
// visit for every pair that reaches the threshold: all of them, each once, and no other. What decides are integers.
//
// The algorithms give the same pairs in the same order, whatever the number of workers. AllPairs, PPJoin and PPJoinPlus are
// those of Xiao, Wang, Lin and Yu, Efficient similarity joins for near duplicate detection, WWW 2008, [PPJ] below, as printed
// but for what docs/join.md names; they are here to compare with. Ours, which is what to use, finds candidates as PPJoin does,
// and tries each by signatures of hashcodes before it looks at a token.
//
// A join goes through four steps, each in a file: order.go puts tokens and sets in the order that all filters go by,
// index.go posts the prefix of each set, a prober (paper.go, ours.go) finds the partners of one set among smaller ones, and
// run.go has the workers do so for all sets and the pairs come out in order.
package join

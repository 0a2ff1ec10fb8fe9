// Package join finds all pairs of similar sets in one collection, or in two: exact set-similarity joins, in memory.
//
// A Collection is sets of tokens. Self and Two compare its sets by a text.Measure, Jaccard, cosine, Dice or overlap, and call
// visit for every pair that reaches the threshold: all of them, each once, and no other. What decides are integers.
//
// The algorithms give the same pairs, each in one order, whatever the number of workers. AllPairs, PPJoin and PPJoinPlus are
// those of Xiao, Wang, Lin and Yu, Efficient similarity joins for near duplicate detection, WWW 2008, [PPJ] below, as printed
// but for what docs/join.md names; they are here to compare with. Ours, which is what to use, has the same prefixes. It goes
// through them token by token where sets are small, and tries two by signatures, as those of hashcodes, before it looks at
// their tokens; where sets are large it goes row by row, and counts the common tokens of prefixes.
//
// A join goes through three steps: order.go, or select.go for Ours, puts tokens and sets in the order that all filters go by;
// paper.go with index.go, count.go with cursors.go, or ours.go post the prefixes of the sets; run.go deals them to workers in
// blocks, whose pairs come out in order. What a worker does is prober in paper.go, counter in count.go, or lister.go.
package join

// Package joins has the tables of exact joins: the experiments of Xiao, Wang, Lin and Yu, Efficient similarity joins
// for near duplicate detection, WWW 2008, on our posts, beside the figures that the paper prints; what samples of
// shingles find (its section 7.5); the products of Abt and Buy; and other programs that answer the same question.
//
// A record is a post, or a document: the set of its tokens, which are numbered where they come again (the paper's
// section 2.1). Of equal records one is kept, as in the paper. All joins have one goroutine; times are of the
// processor.
package joins

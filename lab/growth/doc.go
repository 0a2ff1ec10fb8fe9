// Package growth makes up the sentences of a feed, as token sets, so that windows larger than all real data can be
// measured.
//
// What a look-up costs hangs on how often tokens are met, and on which are met together: the keys of an index are rare
// tokens, and sentences that share them are its candidates. Words drawn one by one have the right lists and hardly any
// candidates. So a sentence of a component, which is one file in one script, is one of these:
//
//   - fresh: as many tokens as real ones have, drawn by Zipf's law (curve.go). Part of them come with the token
//     before: each has two companions of about its own frequency, like the second half of a compound or of a Chinese word.
//   - a copy of an earlier sentence with few changes, or an echo, which takes only some of its tokens. Such are mostly near
//     in time.
//   - made of a topic, a text that is about for a while, or of a template, one that comes again and again.
//
// What is copied was drawn by the same law, so frequencies stay as they are. Components of one script share their
// tokens, each with ranks of its own. Their shares of the rows follow the course of the real feed, over and over.
//
// Nothing is kept: a sentence is a function of the seed and its number, and is made again when another copies it. A
// rank has no end, so the vocabulary grows by Heaps' law for as long as the stream goes on.
//
// The parameters in model.json hold no text and no token. They are made by
//
//	go run ./lab/growth/fit -data ../shared/data > lab/growth/model.json
//
// and `refrain-lab bench likeness` shows how like the real sentences the made-up ones are, `refrain-lab bench growth`
// what a window of 25 million of them costs.
package growth

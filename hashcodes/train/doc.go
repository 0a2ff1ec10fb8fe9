// Package train learns the codes of tokens from sentences.
//
// Collect reads a stream of sentences once and keeps a sample of them. A learner makes codes from the sample: Direct
// is ours, NER and OPT are those of Zhang et al., SIGIR 2012, and MD5 learns nothing. Count measures what codes cost a
// search. Everything is deterministic for a seed, on any number of cores: sums that decide are of integers.
//
// A model never changes what a search finds, only how many candidates it looks at (hashcodes.Radius).
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package train

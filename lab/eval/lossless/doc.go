// Package lossless measures what searches inside the lossless radius cost, and that they lose nothing.
//
// A search looks at the sets whose signatures lie within r(n, n') of its own. Those that are similar enough are true
// candidates, the same under every model; the others are false ones, and how many there are is what the codes of a
// model are worth. A table counts them among sentences that no model has seen: Later by learner, Grid by length of the
// signature, ones, threshold and measure, Drift by week; Effect says what they mean for a detector. Property checks
// every similar pair against the radius, with the pairs found by a join that knows no signatures.
package lossless

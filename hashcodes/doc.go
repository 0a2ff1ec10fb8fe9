// Package hashcodes turns a set of tokens into a short bit signature.
//
// A Model gives every token a code of m bits, at most l of them one; the signature of a sentence is the OR of the
// codes of its tokens. Two sentences that share most of their tokens then have signatures that differ in few bits,
// and Radius says in how many at most, so that a scan for signatures within it loses no pair.
package hashcodes

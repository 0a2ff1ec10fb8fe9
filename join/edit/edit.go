// Package edit joins strings by edit distance: it finds every pair of strings that at most so many insertions,
// deletions and substitutions of one character make equal (Levenshtein's distance), exactly.
//
// A character is a Unicode code point, as range over a string yields it: a byte that is no UTF-8 is U+FFFD, and so
// equal to every other such byte. Nothing is normalised.
//
// # How
//
// Let δ be the distance, and take the grams of a string: its substrings of q characters, numbered where one comes
// again, so that they are a set. One edit touches q of them at most. So of two strings within δ, the longer one x with
// g grams, at least α = g − qδ are common, and in whatever order of all grams the first qδ + 1 of both have one in
// common: the prefix filter with the bounds of section 6 of Xiao, Wang, Lin and Yu, Efficient similarity joins for
// near duplicate detection, WWW 2008, as in All-Pairs-Ed and Ed-Join. Rare grams come first. Strings go by rising
// length, and each is looked up among those before it that are at most δ shorter.
//
// The rule needs α >= 1, a longer string of q (δ + 1) characters or more. The paper compares all shorter strings with
// each other. Here they get shorter grams: one of n characters is looked up by grams of min(q, ⌊n/(δ+1)⌋), down to
// single characters, and so is found. With n <= δ that is none, and every string that is no longer is within δ: those
// pairs are the answer already. So q decides how long a join takes, never what it finds, and a distance greater than
// all strings is a distance like any other: all pairs are within it.
//
// Those that meet are compared by signatures first, 64 bits that say of which pairs of neighbouring characters there
// is an odd number. An edit turns four bits at most, one that makes a string longer or shorter three. What is left is
// verified by dynamic programming in a band around the diagonal (Ukkonen 1985), without the characters that both begin
// and end with.
package edit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
)

// Config says what to look for, and with what.
type Config struct {
	Distance int // δ, the greatest distance of a pair, in characters; 0: equal strings
	Q        int // characters of a gram where strings are long enough, 1 or more; it changes the time, never the answer
	Workers  int // goroutines, 1 or more; they change the time, never the answer
}

// Default is what to begin with: distance 2, grams of 3 characters, all processors.
func Default() Config { return Config{Distance: 2, Q: 3, Workers: runtime.GOMAXPROCS(0)} }

// MaxDistance is far beyond strings that can be compared, and far from where arithmetic overflows.
const MaxDistance = 1 << 30

// Check says everything that is wrong with c.
func (c Config) Check() error {
	var wrong []error
	if c.Distance < 0 || c.Distance > MaxDistance {
		wrong = append(wrong, fmt.Errorf("edit distance %d: want 0 to %d characters", c.Distance, MaxDistance))
	}
	if c.Q < 1 {
		wrong = append(wrong, fmt.Errorf("grams of %d characters: want 1 or more", c.Q))
	}
	if c.Workers < 1 {
		wrong = append(wrong, fmt.Errorf("%d workers: want 1 or more", c.Workers))
	}
	return errors.Join(wrong...)
}

// Pair is two strings, by their places in the collections, from 0, and how many edits they are apart.
type Pair struct{ A, B, Distance int }

// Stats count what each filter let through.
type Stats struct {
	Candidates int64 // pairs of fitting length that share a gram among their first ones, each counted once
	Verified   int64 // candidates whose signatures are near enough, and which were compared character by character
	Pairs      int64 // those within the distance
}

// Self calls visit for every pair of one collection, once, A < B; equal strings at different places are a pair, of
// distance 0.
//
// Pairs come in the same order each time, by the length of the longer string. The caller's goroutine calls visit; an
// error of it ends the join and is returned, as is the end of ctx, and Stats tell what was done until then. Strings
// are not copied; what the join holds beside them says Memory.
func Self(ctx context.Context, c Config, strings []string, visit func(Pair) error) (Stats, error) {
	return run(ctx, c, visit, strings)
}

// Two is Self for the pairs of two collections: A is a place in a, B one in b.
func Two(ctx context.Context, c Config, a, b []string, visit func(Pair) error) (Stats, error) {
	return run(ctx, c, visit, a, b)
}

func run(ctx context.Context, c Config, visit func(Pair) error, sides ...[]string) (Stats, error) {
	if err := c.Check(); err != nil {
		return Stats{}, err
	}
	total := 0
	for _, strings := range sides {
		total += len(strings)
	}
	if total > math.MaxInt32 {
		return Stats{}, fmt.Errorf("%d strings: want %d at most", total, math.MaxInt32)
	}
	j := &join{Config: c, rows: rowsOf(sides, total), two: len(sides) == 2, visit: visit}
	err := j.run(ctx)
	return j.stats, err
}

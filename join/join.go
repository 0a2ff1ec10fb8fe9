package join

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"refrain/hashcodes"
	"refrain/text"
)

// Algorithm is how pairs are found. The answer is the same.
type Algorithm uint8

// The algorithms.
const (
	Ours       Algorithm = iota // prefix index with signatures: the fastest
	AllPairs                    // prefix index (Bayardo, Ma and Srikant, WWW 2007, as [PPJ] has it)
	PPJoin                      // and the positional filter ([PPJ] algorithm 1)
	PPJoinPlus                  // and the suffix filter ([PPJ] algorithms 3 and 4)
)

// Algorithms are their names.
var Algorithms = []string{"ours", "allpairs", "ppjoin", "ppjoin+"}

// ParseAlgorithm reads the name of one.
func ParseAlgorithm(name string) (Algorithm, error) {
	i := slices.Index(Algorithms, name)
	if i < 0 {
		return 0, fmt.Errorf("algorithm %q: want %s", name, strings.Join(Algorithms, ", "))
	}
	return Algorithm(i), nil
}

// String is the name.
func (a Algorithm) String() string {
	if int(a) < len(Algorithms) {
		return Algorithms[a]
	}
	return fmt.Sprintf("algorithm %d", uint8(a))
}

// Config says what is joined, and how.
type Config struct {
	Measure   text.Measure // Overlap too: its threshold is a number of tokens, Threshold{α, 1}
	Algorithm Algorithm
	MaxDepth  int              // of the recursion of PPJoinPlus' suffix filter, 0 or more; 2 in [PPJ]
	Workers   int              // goroutines that look for pairs, 1 or more
	Model     *hashcodes.Model // codes of Ours; nil: by how frequent the tokens are here
	Memory    int64            // bytes that the join may take beside the collections, see Memory; 0: as many as it needs

	// Progress, if there is one, is told from time to time how much of the work is done; by the caller's goroutine. Where Memory
	// makes parts of it, each begins anew.
	Progress func(done, total int)

	look look // for tests
}

// look is how Ours looks for pairs.
type look uint8

const (
	bySize  look = iota // as the sizes of the sets have it
	byToken             // lists
	byRow               // counting
)

// Default is Ours at a Jaccard similarity of 0.8, on all cores.
func Default() Config {
	return Config{Measure: text.Jaccard.At(text.DefaultThreshold), MaxDepth: 2, Workers: runtime.GOMAXPROCS(0)}
}

// check reports all that is wrong with c.
func (c *Config) check() error {
	var problems []error
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	t := c.Measure.Threshold
	switch {
	case c.Measure.Similarity > text.Overlap:
		add(true, "measure %v: there is no such one", c.Measure.Similarity)
	case c.Measure.Similarity == text.Overlap:
		add(t.Num < 1 || t.Den != 1, "threshold %d/%d: want a whole number of tokens, 1 or more, for overlap", t.Num, t.Den)
	default:
		add(t.Num < 1 || t.Num > t.Den, "threshold %d/%d: want more than 0 and at most 1", t.Num, t.Den)
	}
	add(int(c.Algorithm) >= len(Algorithms), "%v: there is no such one", c.Algorithm)
	add(c.MaxDepth < 0, "depth of the suffix filter %d: want 0 or more", c.MaxDepth)
	add(c.Workers < 1, "%d workers: want 1 or more", c.Workers)
	add(c.Memory < 0, "memory %d: want 0 or more", c.Memory)
	return errors.Join(problems...)
}

// Pair is two sets that reach the threshold.
type Pair struct {
	A, B       int     // their numbers; in a join of a collection with itself A < B
	Common     int     // tokens that both have
	Similarity float64 // by the measure, rounded: what decided was Measure.Reaches
}

// Self calls visit for every pair of sets of c that reaches the threshold, once. An empty set has no partners.
//
// Pairs come in the same order each time, which depends on Algorithm and Memory and not on Workers. The caller's goroutine calls visit; an error
// of it ends the join and is returned, as is the end of ctx, and Stats tell what was done until then.
func Self(ctx context.Context, cfg Config, c *Collection, visit func(Pair) error) (Stats, error) {
	if err := cfg.check(); err != nil {
		return Stats{}, fmt.Errorf("join: %w", err)
	}
	return run(ctx, cfg, []*Collection{c}, visit)
}

// Two is Self for the pairs of a set of a and one of b: Pair.A is of a, Pair.B of b.
func Two(ctx context.Context, cfg Config, a, b *Collection, visit func(Pair) error) (Stats, error) {
	if err := cfg.check(); err != nil {
		return Stats{}, fmt.Errorf("join: %w", err)
	}
	return run(ctx, cfg, []*Collection{a, b}, visit)
}

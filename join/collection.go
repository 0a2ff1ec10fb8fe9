package join

import (
	"fmt"
	"math"
)

// MaxTokens is the largest set there is: for what text.Measure computes in integers.
const MaxTokens = 1 << 20

// maxSets is how many sets a collection may have.
const maxSets = math.MaxInt32

// Collection is sets of tokens, numbered from 0 as they come. The zero Collection is empty. It takes 4 bytes a token, 8 a
// set, and up to 64 for each distinct token. It may be joined any number of times, also by several goroutines at once, but
// not while sets are added.
type Collection struct {
	vocabulary vocabulary
	tokens     []uint32 // of all sets, one after the other: numbers in the vocabulary
	ends       []int    // set -> where its tokens end
	largest    int      // tokens of a set
}

// Add adds a set, in any order; a token that comes twice counts once. It keeps nothing of the slice. A set of more than
// MaxTokens is an error, and not added.
func (c *Collection) Add(tokens []uint64) error {
	if len(c.ends) == maxSets {
		return fmt.Errorf("more than %d sets", maxSets)
	}
	from := len(c.tokens)
	c.tokens = c.vocabulary.add(c.tokens, tokens, uint32(len(c.ends)+1))
	n := len(c.tokens) - from
	if n > MaxTokens {
		c.vocabulary.remove(c.tokens[from:])
		c.tokens = c.tokens[:from]
		return fmt.Errorf("a set of %d tokens: want at most %d", n, MaxTokens)
	}
	c.ends = append(c.ends, len(c.tokens))
	c.largest = max(c.largest, n)
	return nil
}

// Len is the number of sets.
func (c *Collection) Len() int { return len(c.ends) }

// Tokens is how many tokens all sets have.
func (c *Collection) Tokens() int { return len(c.tokens) }

// Distinct is how many distinct tokens there are.
func (c *Collection) Distinct() int { return len(c.vocabulary.ids) }

// Size is how many tokens set i has.
func (c *Collection) Size(i int) int { return len(c.set(i)) }

// set is set i, as numbers of the vocabulary.
func (c *Collection) set(i int) []uint32 {
	if i == 0 {
		return c.tokens[:c.ends[0]]
	}
	return c.tokens[c.ends[i-1]:c.ends[i]]
}

// Bytes is how much memory the collection takes.
func (c *Collection) Bytes() int64 {
	return 4*int64(cap(c.tokens)) + 8*int64(cap(c.ends)) + c.vocabulary.bytes()
}

package corpus

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"

	"refrain/feed"
)

// Sentences are those of a corpus in the order of the file. Equal token sets are one group, numbered from 0 in the order
// in which they come first.
type Sentences struct {
	Sets   [][]uint64  // token set of each group
	Groups []uint32    // sentence -> group
	Times  []feed.Time // sentence -> time of its post
}

// Read reads a corpus, at most so many sentences; limit 0: all.
func (c Corpus) Read(ctx context.Context, dir string, limit int) (*Sentences, error) {
	s, numbers := &Sentences{}, map[feed.Hash]uint32{}
	for x, err := range c.Stream(ctx, dir) {
		if err != nil {
			return nil, err
		}
		n, known := numbers[x.Group]
		if !known {
			n = uint32(len(s.Sets))
			numbers[x.Group] = n
			s.Sets = append(s.Sets, slices.Clip(x.Tokens))
		}
		s.Groups = append(s.Groups, n)
		s.Times = append(s.Times, x.Time)
		if len(s.Groups) == limit {
			break
		}
	}
	return s, nil
}

// Len is the number of sentences.
func (s *Sentences) Len() int { return len(s.Groups) }

// Set is the token set of a sentence.
func (s *Sentences) Set(i int) []uint64 { return s.Sets[s.Groups[i]] }

// All yields the token sets in the order of the file, repeats included.
func (s *Sentences) All() iter.Seq[[]uint64] { return s.Range(0, s.Len()) }

// Range yields the token sets of sentences from and to.
func (s *Sentences) Range(from, to int) iter.Seq[[]uint64] {
	return func(yield func([]uint64) bool) {
		for _, g := range s.Groups[from:to] {
			if !yield(s.Sets[g]) {
				return
			}
		}
	}
}

// Sample is n of the sentences, drawn evenly and kept in order, or all where there are fewer.
func (s *Sentences) Sample(n int, seed uint64) *Sentences {
	if n >= s.Len() {
		return s
	}
	r := rand.New(rand.NewPCG(seed, 1))
	picked := &Sentences{}
	numbers := map[uint32]uint32{}
	for i, left := 0, s.Len(); i < s.Len(); i, left = i+1, left-1 {
		if r.IntN(left) >= n-len(picked.Groups) {
			continue
		}
		g, known := numbers[s.Groups[i]]
		if !known {
			g = uint32(len(picked.Sets))
			numbers[s.Groups[i]] = g
			picked.Sets = append(picked.Sets, s.Set(i))
		}
		picked.Groups = append(picked.Groups, g)
		picked.Times = append(picked.Times, s.Times[i])
	}
	return picked
}

// Split cuts at a share of the sentences: the earlier ones as they come, and the later ones, each token set once and none
// that was among the earlier.
func (s *Sentences) Split(share float64) (earlier, later [][]uint64) {
	return s.split(int(share * float64(s.Len())))
}

// SplitAt cuts at the first sentence that is not before a time; see Split.
func (s *Sentences) SplitAt(t feed.Time) (earlier, later [][]uint64) { return s.split(s.Since(t)) }

// Since is the first sentence that is not before a time; Len when all are.
func (s *Sentences) Since(t feed.Time) int {
	if i := slices.IndexFunc(s.Times, func(x feed.Time) bool { return x >= t }); i >= 0 {
		return i
	}
	return s.Len()
}

func (s *Sentences) split(at int) (earlier, later [][]uint64) {
	return slices.Collect(s.Range(0, at)), s.New(at, s.Len(), at)
}

// New returns the token sets of sentences from and to, each once, without those of the first before sentences.
func (s *Sentences) New(from, to, before int) (sets [][]uint64) {
	seen := make([]bool, len(s.Sets))
	for _, g := range s.Groups[:before] {
		seen[g] = true
	}
	for _, g := range s.Groups[from:to] {
		if !seen[g] {
			seen[g] = true
			sets = append(sets, s.Sets[g])
		}
	}
	return sets
}

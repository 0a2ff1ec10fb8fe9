package join

import (
	"fmt"
	"time"
)

// Stats count what a join has done: how many every filter lets through. Each filter of an algorithm is asked about what the
// one before it has let through; a filter that the algorithm does not have counts nothing.
type Stats struct {
	Sets, Tokens int   // of both collections
	Postings     int64 // entries of the index: tokens of index prefixes

	Met        int64 // entries gone through of the lists of prefix tokens, of sets whose size fits
	Signature  int64 // of these, whose signature is within the radius (Ours)
	Positional int64 // of these, which can reach the threshold by where the token stands (PPJoin, PPJoinPlus, Ours)
	Suffix     int64 // pairs that the suffix filter lets through, each tried once (PPJoinPlus)
	Holders    int64 // pairs that counters and containment let through (Ours)
	Candidates int64 // pairs whose tokens were compared
	Pairs      int64 // pairs found

	Prepare, Join time.Duration // putting sets and tokens in order, with the index; looking for pairs
}

func (s *Stats) add(t *Stats) {
	s.Met += t.Met
	s.Signature += t.Signature
	s.Positional += t.Positional
	s.Suffix += t.Suffix
	s.Holders += t.Holders
	s.Candidates += t.Candidates
	s.Pairs += t.Pairs
}

// String is the counts in a line.
func (s *Stats) String() string {
	line := fmt.Sprintf("%d entries met", s.Met)
	for _, f := range []struct {
		name string
		n    int64
	}{{"signature", s.Signature}, {"positional", s.Positional}, {"suffix", s.Suffix}, {"holders", s.Holders}} {
		if f.n > 0 {
			line += fmt.Sprintf(", %s %d", f.name, f.n)
		}
	}
	return line + fmt.Sprintf(", candidates %d, pairs %d", s.Candidates, s.Pairs)
}

package join

import (
	"fmt"
	"time"
)

// Stats count what a join has done: how many every filter lets through. Each filter of an algorithm is asked about what the
// one before it has let through; a filter that the algorithm does not have counts nothing.
type Stats struct {
	Sets, Tokens int   // of both collections
	Parts        int   // in which sets were joined: more than one where Config.Memory is small, or Ours counts some of them
	Postings     int64 // entries of the index

	Entries    int64 // entries of lists read: two sets of fitting sizes with one token in their prefixes; once for each such token
	Signature  int64 // of these, with signatures within the radius (Ours of small sets)
	Positional int64 // of these, which can reach the threshold by where the token stands, or pairs by the tokens counted (Ours of large sets)
	Missing    int64 // of these, with so few bits of either signature missing in the other as tokens may be (Ours)
	Suffix     int64 // pairs that the suffix filter lets through, each tried once (PPJoinPlus)
	Candidates int64 // pairs whose tokens were compared; Ours takes equal sets for one
	Pairs      int64 // pairs found

	Prepare, Join time.Duration // putting sets and tokens in order, with the index; looking for pairs
}

func (s *Stats) add(t *Stats) {
	s.Entries += t.Entries
	s.Signature += t.Signature
	s.Positional += t.Positional
	s.Suffix += t.Suffix
	s.Missing += t.Missing
	s.Candidates += t.Candidates
	s.Pairs += t.Pairs
}

// String is the counts in a line.
func (s *Stats) String() string {
	line := fmt.Sprintf("%d entries", s.Entries)
	for _, f := range []struct {
		name string
		n    int64
	}{{"signature", s.Signature}, {"positional", s.Positional}, {"missing", s.Missing}, {"suffix", s.Suffix}} {
		if f.n > 0 {
			line += fmt.Sprintf(", %s %d", f.name, f.n)
		}
	}
	return line + fmt.Sprintf(", candidates %d, pairs %d", s.Candidates, s.Pairs)
}

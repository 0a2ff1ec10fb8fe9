package main

import (
	"fmt"
	"slices"

	"refrain/text"
)

// pair is two rows: the later one in the high half.
type pair uint64

func (p pair) rows() (later, earlier int) { return int(p >> 32), int(uint32(p)) }

// readPairs reads a file of pairs, later row first, and sorts them.
func readPairs(path string) ([]pair, error) {
	numbers, err := readArray[uint32](path)
	if err != nil {
		return nil, err
	}
	pairs := make([]pair, len(numbers)/2)
	for i := range pairs {
		pairs[i] = pair(numbers[2*i])<<32 | pair(numbers[2*i+1])
	}
	slices.Sort(pairs)
	return slices.Compact(pairs), nil
}

// score is what a peer found, of what it could have: the true pairs whose later row it looked up.
type score struct {
	True      int `json:"true"`
	Found     int `json:"found"`
	TrueNear  int `json:"trueNear"` // of sets that are not the same
	FoundNear int `json:"foundNear"`
	Wrong     int `json:"wrong"` // reported and not true
}

// scored compares what a peer reported with the truth, both in order.
func (c *collection) scored(truth, pairs []pair, rows, every int) (s score) {
	for _, p := range truth {
		for len(pairs) > 0 && pairs[0] < p {
			s.Wrong++
			pairs = pairs[1:]
		}
		later, earlier := p.rows()
		if later >= rows || later%every != 0 {
			continue
		}
		found := len(pairs) > 0 && pairs[0] == p
		if found {
			pairs = pairs[1:]
		}
		s.count(found, c.groups[later] != c.groups[earlier])
	}
	s.Wrong += len(pairs)
	return s
}

func (s *score) count(found, near bool) {
	s.True++
	s.Found += oneIf(found)
	s.TrueNear += oneIf(near)
	s.FoundNear += oneIf(found && near)
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// check holds the truth against the definition: every pair of it, and for some rows, evenly spread, every pair that
// there is, by going through all rows before.
func (c *collection) check(t text.Threshold, truth []pair, sample int) error {
	for _, p := range truth {
		if later, earlier := p.rows(); !c.similar(t, later, earlier) {
			return fmt.Errorf("the truth is not true: rows %d and %d are not similar", later, earlier)
		}
	}
	of := make([]bool, len(c.order)) // the tokens of the row at hand
	step := max(1, c.rows()/max(1, sample))
	for row := c.rows() - 1; row >= 0; row -= step {
		from, _ := slices.BinarySearch(truth, pair(row)<<32)
		to, _ := slices.BinarySearch(truth, pair(row+1)<<32)
		if got, want := truth[from:to], c.before(t, row, of); !slices.Equal(got, want) {
			return fmt.Errorf("the truth is not whole: row %d has %d earlier rows, want %d", row, len(got), len(want))
		}
	}
	return nil
}

// before lists the pairs of a row with those before it, by counting tokens.
func (c *collection) before(t text.Threshold, row int, of []bool) (pairs []pair) {
	begin, end := c.bounds(row)
	for _, n := range c.numbers[begin:end] {
		of[n] = true
	}
	var from uint64
	for earlier, to := range c.ends[:row] {
		common := 0
		for _, n := range c.numbers[from:to] {
			common += oneIf(of[n])
		}
		if text.Jaccard.At(t).Reaches(common, int(end-begin), int(to-from)) {
			pairs = append(pairs, pair(row)<<32|pair(earlier))
		}
		from = to
	}
	for _, n := range c.numbers[begin:end] {
		of[n] = false
	}
	return pairs
}

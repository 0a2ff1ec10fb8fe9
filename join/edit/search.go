package edit

import (
	"context"
	"math/bits"
	"slices"
)

// searcher looks rows up among those before them. It belongs to one goroutine.
type searcher struct {
	*tier
	tried []uint32 // by row: the last one that it was compared with, plus one
	x, y  []rune
	band  band
	stats Stats

	ctx   context.Context
	out   chan<- []Pair
	found []Pair // not sent yet
}

// maxFound is how many pairs wait to be sent.
const maxFound = 1024

// run searches chunks until there are no more, or ctx ends.
func (s *searcher) run(chunks <-chan chunk) {
	for c := range chunks {
		s.out = c.found
		if s.searchAll(c.from, c.to) != nil {
			break
		}
		close(c.found)
	}
	s.join.add(s.stats)
}

// searchAll looks up rows from to to−1. Its error is that of ctx.
func (s *searcher) searchAll(from, to int) error {
	for i := from; i < to; i++ {
		if err := s.search(i); err != nil {
			return err
		}
	}
	return s.send()
}

func (s *searcher) search(i int) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	s.x = appendRunes(s.x[:0], s.rows[i].text)
	low := startOf(s.rows[:i], len(s.x)-s.Distance)
	if s.tokens == nil {
		return s.searchEach(i, low)
	}
	lists := &s.lists[s.partner(s.rows[i].side)]
	for _, token := range s.prefix(i) {
		if err := s.searchList(i, low, lists.of(token)); err != nil {
			return err
		}
	}
	return nil
}

// searchEach compares a row with all from low on: they are too short for any filter.
func (s *searcher) searchEach(i, low int) error {
	partner := s.partner(s.rows[i].side)
	for k := low; k < i; k++ {
		if s.rows[k].side == partner {
			if err := s.verify(i, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// searchList compares a row with those of a list that come before it, from low on.
func (s *searcher) searchList(i, low int, list []uint32) error {
	at, _ := slices.BinarySearch(list, uint32(low))
	for _, k := range list[at:] {
		if int(k) >= i {
			break
		}
		if s.tried[k] == uint32(i)+1 {
			continue
		}
		s.tried[k] = uint32(i) + 1
		if err := s.verify(i, int(k)); err != nil {
			return err
		}
	}
	return nil
}

// verify compares two rows, the second one not longer.
func (s *searcher) verify(i, k int) error {
	x, y := &s.rows[i], &s.rows[k]
	s.stats.Candidates++
	if bits.OnesCount64(x.parity^y.parity) > turned(s.Distance, int(x.length-y.length)) {
		return nil
	}
	s.stats.Verified++
	s.y = appendRunes(s.y[:0], y.text)
	distance, within := s.band.distance(s.x, s.y, s.Distance)
	if !within {
		return nil
	}
	s.stats.Pairs++
	s.found = append(s.found, s.pair(x, y, distance))
	if len(s.found) < maxFound {
		return nil
	}
	return s.send()
}

// pair names two rows by their places: the lower one first, or that of the first collection.
func (s *searcher) pair(x, y *row, distance int) Pair {
	a, b := int(x.place), int(y.place)
	if x.side > y.side || x.side == y.side && a > b {
		a, b = b, a
	}
	return Pair{a, b, distance}
}

// send hands on what was found.
func (s *searcher) send() error {
	if len(s.found) > 0 {
		select {
		case s.out <- s.found:
			s.found = nil
		case <-s.ctx.Done():
		}
	}
	return s.ctx.Err()
}

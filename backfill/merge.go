package backfill

import (
	"os"
	"slices"
)

// Both merges, of posts in runs and of events in the passes of a slice, have a bound on the files that are open and on the
// memory of their cursors: where there are more files, some of them are merged into one first.

// ordered is a sequence in order, which is at one of its elements. advance goes to the next one, and reports whether there is one.
type ordered[T any] interface {
	advance() (more bool, err error)
	compare(other T) int
}

// merger merges sequences: a binary heap of them, that with the smallest element on top.
type merger[T ordered[T]] struct{ heap []T }

// newMerger merges sequences that are each before their first element.
func newMerger[T ordered[T]](all []T) (*merger[T], error) {
	m := &merger[T]{}
	for _, s := range all {
		more, err := s.advance()
		if err != nil {
			return nil, err
		}
		if more {
			m.heap = append(m.heap, s)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m, nil
}

// top is the sequence with the smallest element; ok is false behind the last.
func (m *merger[T]) top() (s T, ok bool) {
	if len(m.heap) == 0 {
		return s, false
	}
	return m.heap[0], true
}

// advance goes to the next element of all.
func (m *merger[T]) advance() error {
	more, err := m.heap[0].advance()
	if !more {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	m.down(0)
	return err
}

// each visits all elements in order.
func (m *merger[T]) each(visit func(T) error) error {
	for {
		s, ok := m.top()
		if !ok {
			return nil
		}
		if err := visit(s); err != nil {
			return err
		}
		if err := m.advance(); err != nil {
			return err
		}
	}
}

// down moves the sequence at i below those that come before it.
func (m *merger[T]) down(i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.heap[child].compare(m.heap[first]) < 0 {
				first = child
			}
		}
		if first == i {
			return
		}
		m.heap[i], m.heap[first] = m.heap[first], m.heap[i]
		i = first
	}
}

// minFanIn and maxFanIn bound the files that a merge reads at once.
const minFanIn, maxFanIn = 8, 512

// fanIn is how many runs a slice merges at most. Each has a block in memory for each slice that is worked on: together they take
// half of what sorting took before, twice with what the garbage collector leaves.
func (c *Config) fanIn() int {
	return min(maxFanIn, max(minFanIn, c.SortBytes/(2*blockBytes*c.slicesAtOnce())))
}

// mergeDown merges files until there are at most fanIn: no more of them than that takes. merge writes a new file of several, which
// are removed then.
func mergeDown(paths []string, fanIn int, merge func(group []string) (merged string, err error)) ([]string, error) {
	for len(paths) > fanIn {
		n := min(fanIn, len(paths)-fanIn+1)
		merged, err := merge(paths[:n])
		if err != nil {
			return paths, err
		}
		for _, path := range paths[:n] {
			if err := os.Remove(path); err != nil {
				return paths, err
			}
		}
		paths = append(slices.Clone(paths[n:]), merged)
	}
	return paths, nil
}

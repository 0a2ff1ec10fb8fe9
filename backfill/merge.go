package backfill

import "refrain/feed"

// merger yields the records of several runs in their order: a binary heap of cursors, each at a record, the first on top.
type merger struct{ heap []*cursor }

// newMerger merges what the runs have from one time up to another, which it leaves out.
func newMerger(runs []*run, from, to feed.Time) (*merger, error) {
	m := &merger{}
	for _, r := range runs {
		c := r.cursor(from, to)
		more, err := c.advance()
		if err != nil {
			return nil, err
		}
		if more {
			m.heap = append(m.heap, c)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m, nil
}

// next is the post that comes next, and how it came in; ok is false behind the last.
func (m *merger) next() (p feed.Post, raw string, ok bool, err error) {
	if len(m.heap) == 0 {
		return p, "", false, nil
	}
	top := m.heap[0]
	p, raw = decodeBody(top.time, top.body)
	more, err := top.advance()
	if !more {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	m.down(0)
	return p, raw, true, err
}

// down moves the cursor at i below those that come before it.
func (m *merger) down(i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.before(child, first) {
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

func (m *merger) before(i, j int) bool {
	a, b := m.heap[i], m.heap[j]
	return compareRecords(a.time, a.body, b.time, b.body) < 0
}

package sigstore

import "slices"

// crowds are the occurrence lists of the groups that have one, by a number that is in their rows.
type crowds struct {
	all  []*occurrenceList
	free []int
	held int64 // bytes of all
}

// of is a group's; its row says that it has one.
func (c *crowds) of(r *row) *occurrenceList { return c.all[r.records&^listFlag] }

// add takes m in, and returns what its row has to say.
func (c *crowds) add(m *occurrenceList) (records uint32) {
	c.held += m.bytes()
	if len(c.free) == 0 {
		c.all = append(c.all, nil)
		c.free = append(c.free, len(c.all)-1)
	}
	n := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	c.all[n] = m
	return listFlag | uint32(n)
}

// remove gives back what a group has here, if it has something.
func (c *crowds) remove(r *row) {
	if !r.hasList() {
		return
	}
	n := int(r.records &^ listFlag)
	c.held -= c.all[n].bytes()
	c.all[n] = nil
	c.free = append(c.free, n)
}

// change changes m and counts what it holds then.
func (c *crowds) change(m *occurrenceList, change func(*occurrenceList)) {
	before := m.bytes()
	change(m)
	c.held += m.bytes() - before
}

// cutCrowds drops the oldest occurrences of every group that holds more than its share, in bytes, until it holds half of
// that, and returns how many they were. What is remembered of remote groups goes whole if it is more: nothing is lost by
// that, some matches are reported once more.
func (gs *Groups) cutCrowds(share int64) (dropped int) {
	if gs.remote.bytes() > share {
		gs.remote.drop(func(*occurrence) bool { return true })
	}
	for _, m := range gs.crowds.all {
		if m != nil && m.bytes() > share {
			gs.crowds.change(m, func(m *occurrenceList) { dropped += m.cut(share / 2) })
			m.thinAt = max(gs.cfg.thinFrom, 2*len(m.records))
		}
	}
	gs.occurrences -= dropped
	gs.views.forget()
	return dropped
}

// cut drops the oldest occurrences, all but the newest, until so many bytes are left, about.
func (m *occurrenceList) cut(bytes int64) (dropped int) {
	m.names = nil
	stay := max(1, int(int64(len(m.records))*bytes/m.bytes()))
	begin := len(m.records) - stay
	return m.retain(func(i int, _ *occurrence) bool { return i >= begin })
}

// clip gives back what the lists hold beyond their lengths.
func (c *crowds) clip() {
	c.all, c.free = slices.Clip(c.all), nil
	for n, m := range c.all {
		if m == nil {
			c.free = append(c.free, n)
		}
	}
}

func (c *crowds) bytes() int64 { return c.held + 8*int64(len(c.all)) }

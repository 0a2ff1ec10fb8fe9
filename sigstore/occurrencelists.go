package sigstore

import "slices"

// occurrenceLists are the occurrence lists of the groups that have one, by a number that is in their rows.
type occurrenceLists struct {
	all  []*occurrenceList
	free []int
	held int64 // bytes of all
}

// of is a group's; its row says that it has one.
func (l *occurrenceLists) of(r *row) *occurrenceList { return l.all[r.records&^listFlag] }

// add takes m in, and returns what its row has to say.
func (l *occurrenceLists) add(m *occurrenceList) (records uint32) {
	l.held += m.bytes()
	if len(l.free) == 0 {
		l.all = append(l.all, nil)
		l.free = append(l.free, len(l.all)-1)
	}
	n := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	l.all[n] = m
	return listFlag | uint32(n)
}

// remove gives back what a group has here, if it has something.
func (l *occurrenceLists) remove(r *row) {
	if !r.hasList() {
		return
	}
	n := int(r.records &^ listFlag)
	l.held -= l.all[n].bytes()
	l.all[n] = nil
	l.free = append(l.free, n)
}

// change changes m and counts what it holds then.
func (l *occurrenceLists) change(m *occurrenceList, change func(*occurrenceList)) {
	before := m.bytes()
	change(m)
	l.held += m.bytes() - before
}

// truncateLists removes the oldest occurrences of every group that holds more than its share, in bytes, until it holds
// half of that, and returns how many they were. What is remembered of remote groups goes whole if it is more: nothing
// is lost by that, some matches are reported once more.
func (gs *Groups) truncateLists(share int64) (removed int) {
	if gs.remote.bytes() > share {
		gs.remote.removeIf(func(*occurrence) bool { return true })
	}
	for _, m := range gs.lists.all {
		if m != nil && m.bytes() > share {
			gs.lists.change(m, func(m *occurrenceList) { removed += m.truncate(share / 2) })
			m.thinAt = max(gs.cfg.thinFrom, 2*len(m.records))
		}
	}
	gs.occurrences -= removed
	gs.views.invalidate()
	return removed
}

// truncate removes the oldest occurrences, never the newest, until about so many bytes are left.
func (m *occurrenceList) truncate(bytes int64) (removed int) {
	m.names = nil
	stay := max(1, int(int64(len(m.records))*bytes/m.bytes()))
	begin := len(m.records) - stay
	return m.retain(func(i int, _ *occurrence) bool { return i >= begin })
}

// clip gives back what the lists hold beyond their lengths.
func (l *occurrenceLists) clip() {
	l.all, l.free = slices.Clip(l.all), nil
	for n, m := range l.all {
		if m == nil {
			l.free = append(l.free, n)
		}
	}
}

func (l *occurrenceLists) bytes() int64 { return l.held + 8*int64(len(l.all)) }

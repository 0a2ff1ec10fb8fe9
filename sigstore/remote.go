package sigstore

import "refrain/feed"

// remoteGroups remembers sentences of groups that other partitions own: those that came late and made rows of this
// window repeats. The next late sentence of the same group need not report those rows again; a text that arrives in
// the wrong order would otherwise report every pair of its occurrences.
type remoteGroups struct {
	cfg       *groupsConfig
	groups    map[feed.Hash]*occurrenceList
	sentences int   // of all groups
	held      int64 // bytes of them
	next      int   // number of them at which to look for what is too old
}

// view is what is remembered of a group.
func (f *remoteGroups) view(h feed.Hash) *view {
	if m := f.groups[h]; m != nil {
		return m.view()
	}
	return &view{}
}

// remember keeps x, which is of a group that the window does not own.
func (f *remoteGroups) remember(x *feed.Sentence) {
	m := f.groups[x.Group]
	if m != nil && m.view().has(x) {
		return
	}
	if m == nil {
		if f.groups == nil {
			f.groups = map[feed.Hash]*occurrenceList{}
		}
		m = &occurrenceList{cfg: f.cfg}
		f.groups[x.Group] = m
		f.held += m.bytes()
	}
	o := occurrenceOf(x)
	o.link, o.meta = "", "" // it is never shown
	before := m.bytes()
	m.insert(&o)
	f.sentences++
	f.held += m.bytes() - before
}

// forget drops what is remembered of remote groups that is older than t.
func (gs *Groups) forget(t feed.Time) { gs.cleanRemote().forget(t) }

// forget drops what is older than t: a sentence that is not late cannot be earlier.
func (f *remoteGroups) forget(t feed.Time) {
	if f.sentences < f.next {
		return
	}
	f.drop(func(o *occurrence) bool { return o.time < t })
	f.next = 2*f.sentences + 64
}

// drop forgets some.
func (f *remoteGroups) drop(which func(*occurrence) bool) {
	f.each(func(m *occurrenceList) int { return m.retain(func(_ int, o *occurrence) bool { return !which(o) }) })
}

// each has every group drop some, and forgets those that are empty then.
func (f *remoteGroups) each(drop func(*occurrenceList) int) {
	for h, m := range f.groups {
		before := m.bytes()
		f.sentences -= drop(m)
		f.held += m.bytes() - before
		if len(m.records) == 0 {
			f.held -= m.bytes()
			delete(f.groups, h)
		}
	}
}

func (f *remoteGroups) bytes() int64 { return f.held + int64(len(f.groups))*40 }

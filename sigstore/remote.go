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
func (r *remoteGroups) view(h feed.Hash) *view {
	if m := r.groups[h]; m != nil {
		return m.view()
	}
	return &view{}
}

// remember keeps x, which is of a group that the window does not own.
func (r *remoteGroups) remember(x *feed.Sentence) {
	m := r.groups[x.Group]
	if m != nil && m.view().has(x) {
		return
	}
	if m == nil {
		if r.groups == nil {
			r.groups = map[feed.Hash]*occurrenceList{}
		}
		m = &occurrenceList{cfg: r.cfg}
		r.groups[x.Group] = m
		r.held += m.bytes()
	}
	o := occurrenceOf(x)
	o.link, o.meta = "", "" // it is never shown
	before := m.bytes()
	m.insert(&o)
	r.sentences++
	r.held += m.bytes() - before
}

// expireRemote removes what is remembered of remote groups and is older than t.
func (gs *Groups) expireRemote(t feed.Time) { gs.cleanRemote().expire(t) }

// expire removes what is older than t: a sentence that is not late cannot be earlier.
func (r *remoteGroups) expire(t feed.Time) {
	if r.sentences < r.next {
		return
	}
	r.removeIf(func(o *occurrence) bool { return o.time < t })
	r.next = 2*r.sentences + 64
}

// removeIf removes the sentences for which remove holds.
func (r *remoteGroups) removeIf(remove func(*occurrence) bool) {
	r.clean(func(m *occurrenceList) int { return m.retain(func(_ int, o *occurrence) bool { return !remove(o) }) })
}

// clean has remove take sentences out of every group, and deletes the groups that are empty then. remove returns how many
// they were.
func (r *remoteGroups) clean(remove func(*occurrenceList) int) {
	for h, m := range r.groups {
		before := m.bytes()
		r.sentences -= remove(m)
		r.held += m.bytes() - before
		if len(m.records) == 0 {
			r.held -= m.bytes()
			delete(r.groups, h)
		}
	}
}

func (r *remoteGroups) bytes() int64 { return r.held + int64(len(r.groups))*40 }

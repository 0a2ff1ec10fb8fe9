package sigstore

import (
	"strconv"
	"unsafe"

	"refrain/feed"
)

// Stays says which sentences of a deleted author were said after all: after the deletion, and before the window was told.
type Stays func(post string, sentence int, version uint32) bool

// Gone says which posts are deleted. The names are only lent.
type Gone func(source, post string) bool

// purge holds what was deleted, until a walk over the rows has removed it. The walk goes on a little at a time; meanwhile a
// group is cleaned before anything looks at it, changes it or moves it. So nothing ever sees what is deleted, and each
// group is either clean or as it was at the deletion.
//
// There is no index of posts: it would take as much as the texts themselves, on the word of whoever deletes a post that
// nobody has. One walk serves all deletions that there were when it began.
//
// A deleted post is so whenever it came. What a deleted author says later finds a clean group, and has to be told from
// what the walk is after. In an arena it stands behind the position of the deletion; a group with an occurrence list
// knows the last deletion that it was cleaned of.
type purge struct {
	gone        Gone             // nil: no post is to be removed
	posts       uint32           // number of the last deletion of posts
	authors     map[who]deletion // nil: none
	number      uint32           // of the last deletion
	recent      recent           // what those of the last ones were of
	walk        *walk            // nil: none is under way
	remoteDirty bool             // what is remembered of remote groups is not clean
	id          []byte           // scratch
}

// who is an author of a source.
type who struct{ source, author string }

// deletion is when an author was deleted, as the rows see it.
type deletion struct {
	number   uint32
	position uint64 // position in the arenas
	stays    Stays  // nil: nothing does
}

// walk removes what the deletions up to a number are after.
type walk struct {
	number    uint32
	next, end Row
}

// deletePosts hides everything that the deleted posts say at once.
func (gs *Groups) deletePosts(gone Gone, posts []feed.Name) {
	p := &gs.purge
	p.gone = gone
	gs.begin()
	p.posts = p.number
	for i := range posts {
		p.recent.add(hashPost(posts[i].Source, parsePostID(posts[i].Post)), p.number)
	}
}

// deleteAuthor hides everything that an author has said so far at once.
func (gs *Groups) deleteAuthor(source, author string, stays Stays) {
	p := &gs.purge
	if p.authors == nil {
		p.authors = map[who]deletion{}
	}
	gs.begin()
	p.authors[who{source, author}] = deletion{p.number, gs.blocks.current().arena.next(), stays}
	p.recent.add(hashAuthor(who{source, author}), p.number)
}

// begin begins a deletion: no group is clean any more.
func (gs *Groups) begin() {
	p := &gs.purge
	p.number++
	p.remoteDirty = true
	gs.cached = cachedGroup{} // it is to be cleaned first
}

func (p *purge) isPending() bool { return p.gone != nil || p.authors != nil }

// isAfter reports whether an occurrence of a group is to go; m is the group's, nil where it has a chain.
func (p *purge) isAfter(o *occurrence, m *occurrenceList) bool {
	if p.isGone(o.source, o.post) {
		return true
	}
	d, ok := p.authors[who{o.source, o.author}]
	if !ok || m == nil && o.at >= d.position || m != nil && m.cleaned >= d.number {
		return false
	}
	return d.stays == nil || !d.stays(o.post.String(), int(o.index), o.version)
}

// isGone asks for a post by a name that is made anew in place: half the posts have numbers.
func (p *purge) isGone(source string, post postID) bool {
	if p.gone == nil {
		return false
	}
	if !post.isNumber() {
		return p.gone(source, post.text)
	}
	p.id = strconv.AppendUint(p.id[:0], post.number-1, 10)
	return p.gone(source, unsafe.String(&p.id[0], len(p.id)))
}

// clean removes from a group what was deleted, and reports whether anything is left of it.
func (gs *Groups) clean(g Group) (alive bool) {
	p := &gs.purge
	if !p.isPending() {
		return true
	}
	m, before := gs.view(g).list, uint32(0)
	if m != nil {
		before = m.cleaned
	}
	if before == p.number {
		return true
	}
	if m == nil || !p.recent.misses(m.names, before) {
		removed, remaining := gs.removeDeleted(g, m)
		gs.purged += removed
		if remaining == 0 {
			gs.removeEmpty(g)
			return false
		}
	}
	if m = gs.view(g).list; m != nil { // a chain that has lost some is a list now
		m.replaceDeletedFirst(p, before)
		m.cleaned = p.number
	}
	return true
}

// removeDeleted removes from a group what was deleted; m is the group's, nil where it has a chain.
func (gs *Groups) removeDeleted(g Group, m *occurrenceList) (removed, remaining int) {
	after := func(o *occurrence) bool { return gs.purge.isAfter(o, m) }
	if m == nil {
		return gs.removeOccurrences(g, after)
	}
	gs.lists.change(m, func(m *occurrenceList) { removed = m.removeNamed(after) })
	gs.occurrences -= removed
	return removed, len(m.records)
}

// removeEmpty removes a group that has no occurrence left.
func (gs *Groups) removeEmpty(g Group) {
	gs.removeGroup(g)
	g.block.kill(g.n)
}

// cleanRemote is remote without what was deleted: a deleted post is nobody's witness, and what came after it was deleted,
// another has to report. What stays of an author is reported once more, under the same ids. It is cleaned for all deletions
// at once, when it is next looked at.
func (gs *Groups) cleanRemote() *remoteGroups {
	p := &gs.purge
	if p.remoteDirty {
		p.remoteDirty = false
		gs.remote.clean(p.cleanRemoteGroup)
	}
	return &gs.remote
}

// cleanRemoteGroup removes from a remote group what was deleted.
func (p *purge) cleanRemoteGroup(m *occurrenceList) (dropped int) {
	if !p.recent.misses(m.names, m.cleaned) {
		dropped = m.removeNamed(func(o *occurrence) bool {
			_, deleted := p.authors[who{o.source, o.author}]
			return deleted || p.isGone(o.source, o.post)
		})
	}
	m.cleaned = p.number
	return dropped
}

// purgeSome goes on with the removal by so many rows, and reports whether there is more of it.
func (gs *Groups) purgeSome(rows int) (more bool) {
	p, bs := &gs.purge, gs.blocks
	if !p.isPending() {
		return false
	}
	if p.walk == nil {
		p.walk = &walk{p.number, Row{Block: bs.first()}, bs.next()}
	}
	w := p.walk
	for ; rows > 0; rows-- {
		if w.next.Block < bs.first() { // blocks that have gone were cleaned as they went
			w.next = Row{Block: bs.first()}
		}
		if w.next == w.end || !bs.contains(w.next.Block) {
			return gs.endWalk()
		}
		g := bs.group(w.next)
		if int(w.next.Row) >= g.block.rows {
			w.next = Row{Block: w.next.Block + 1}
			continue
		}
		if g.isAlive() {
			gs.clean(g)
		}
		w.next.Row++
	}
	return true
}

// endWalk forgets the deletions whose rows are gone.
func (gs *Groups) endWalk() (more bool) {
	gs.cleanRemote()
	p := &gs.purge
	for who, d := range p.authors {
		if d.number <= p.walk.number {
			delete(p.authors, who)
		}
	}
	if len(p.authors) == 0 {
		p.authors = nil
	}
	if p.posts <= p.walk.number {
		p.gone = nil
	}
	p.walk = nil
	return p.isPending()
}

// purgeAll removes at once what is to be removed.
func (gs *Groups) purgeAll() {
	for gs.purgeSome(1 << 20) {
	}
}

// replaceDeletedFirst puts the oldest occurrence left in the place of a first one that is deleted. A group that was
// cleaned of the deletion of its author has a later one.
func (m *occurrenceList) replaceDeletedFirst(p *purge, cleaned uint32) {
	d, ok := p.authors[who{m.first.Source, m.first.Author}]
	if ok && cleaned < d.number || p.gone != nil && p.gone(m.first.Source, m.first.Post) {
		m.replaceFirst()
	}
}

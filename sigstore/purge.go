package sigstore

// Stays says which sentences of a deleted author were said after all: after the deletion, and before the window was told.
type Stays func(post string, sentence int, version uint32) bool

// purge holds the authors that were deleted, until a walk over the rows has removed what they said before. The walk goes
// on a little at a time; meanwhile a group is cleaned before anything looks at it, changes it or moves it. So nothing ever
// sees what is deleted, and each group is either clean or as it was when the author was deleted: what the author says
// later finds a clean group, and has to be told from what the walk is after. In an arena it stands behind the mark; a
// group with records of its own knows the last deletion that it was cleaned of.
type purge struct {
	authors map[who]deletion // nil: none
	number  uint32           // of the last deletion
	walk    *walk            // nil: none is under way
}

// who is an author of a source.
type who struct{ source, author string }

// deletion is when an author was deleted, as the rows see it.
type deletion struct {
	number uint32
	mark   uint64 // position in the arenas
	stays  Stays  // nil: nothing does
}

// walk removes what the deletions up to a number are after.
type walk struct {
	number    uint32
	next, end Row
}

// deleteAuthor hides everything that an author has said so far at once.
func (gs *Groups) deleteAuthor(source, author string, stays Stays) {
	p := &gs.purge
	if p.authors == nil {
		p.authors = map[who]deletion{}
	}
	p.number++
	gs.got = got{} // it is to be cleaned first
	p.authors[who{source, author}] = deletion{p.number, gs.blocks.current().arena.next(), stays}
	// What he said is no witness, as that of a deleted post. What stays is reported once more, under the same ids.
	gs.foreign.drop(func(o *occurrence) bool { return o.source == source && o.author == author })
}

// isAfter reports whether an occurrence of a group is to go; m is the group's, nil where it has a chain.
func (p *purge) isAfter(o *occurrence, m *many) bool {
	d, ok := p.authors[who{o.source, o.author}]
	if !ok || m == nil && o.at >= d.mark || m != nil && m.cleaned >= d.number {
		return false
	}
	return d.stays == nil || !d.stays(o.post.String(), int(o.index), o.version)
}

// clean removes from a group what deleted authors said, and reports whether anything is left of it.
func (gs *Groups) clean(g Group) (alive bool) {
	p := &gs.purge
	if p.authors == nil {
		return true
	}
	m, before := gs.view(g).many, uint32(0)
	if m != nil {
		before = m.cleaned
	}
	if before == p.number {
		return true
	}
	dropped, left := gs.drop(g, func(o *occurrence) bool { return p.isAfter(o, m) })
	gs.purged += dropped
	if left == 0 {
		gs.evict(g)
		return false
	}
	if m = gs.view(g).many; m != nil {
		m.forgetAuthors(p, before)
		m.cleaned = p.number
	}
	return true
}

// evict lets a group go that has no occurrence left.
func (gs *Groups) evict(g Group) {
	gs.removeGroup(g)
	g.block.kill(g.n)
}

// purgeSome goes on with the removal by so many rows, and reports whether there is more of it.
func (gs *Groups) purgeSome(rows int) (more bool) {
	p, bs := &gs.purge, gs.blocks
	if p.authors == nil {
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
		if w.next == w.end || !bs.has(w.next.Block) {
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
	p := &gs.purge
	for who, d := range p.authors {
		if d.number <= p.walk.number {
			delete(p.authors, who)
		}
	}
	p.walk = nil
	if len(p.authors) == 0 {
		p.authors = nil
	}
	return p.authors != nil
}

// purgeAll removes at once what is to be removed.
func (gs *Groups) purgeAll() {
	for gs.purgeSome(1 << 20) {
	}
}

// forgetAuthors puts the oldest occurrence left in the place of a first one that a deleted author said. A group that was
// cleaned of that deletion has a later one.
func (m *many) forgetAuthors(p *purge, cleaned uint32) {
	d, ok := p.authors[who{m.first.Source, m.first.Author}]
	if ok && cleaned < d.number {
		m.replaceFirst()
	}
}

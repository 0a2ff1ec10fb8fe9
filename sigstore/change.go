package sigstore

import "refrain/feed"

// newGroup makes a group with its first occurrence, its token set being numbers.
func (gs *Groups) newGroup(h *feed.Hash, o *occurrence, numbers []uint32) {
	b := gs.blocks.current()
	r := newRow(keyOfHash(h))
	r.sequence, r.tokens = o.sequence, b.offset(gs.blocks.writeSet(numbers))
	r.records = b.offset(gs.blocks.write(o, r.sequence, links{}))
	gs.name(Group{b, b.add(r)})
	gs.peak = max(gs.peak, gs.len())
	gs.occurrences++
}

// name makes a group known by its name.
func (gs *Groups) name(g Group) { gs.names.add(g.row().key(), g.number(), gs.blocks.keyOf) }

// maxChain is the number of occurrences from which on a group has an occurrence list: where thinning begins, as a rule.
const maxChain = 15

// addOccurrence adds an occurrence to a group, and reports whether the group is to be thinned.
func (gs *Groups) addOccurrence(g Group, o *occurrence) (dense bool) {
	gs.occurrences++
	v := gs.view(g)
	if v.list == nil && (v.len() >= min(maxChain, gs.cfg.thinFrom-1) || !g.block.reaches(&gs.blocks.current().arena)) {
		gs.makeList(g, v)
	}
	if v.list != nil {
		gs.lists.change(v.list, func(m *occurrenceList) { m.insert(o) })
		return v.list.isDense()
	}
	pos := gs.blocks.write(o, g.row().sequence, links{before: g.newest(), text: v.textLike(o.text, v.len())})
	g.block.setRecords(g.n, g.block.offset(pos))
	gs.views.invalidate()
	return false
}

// makeList gives a group with a chain an occurrence list.
func (gs *Groups) makeList(g Group, v *view) {
	m := newOccurrenceList(v, gs.blocks.frame(g.block, g.row().sequence), gs.cfg)
	m.cleaned = gs.purge.number
	g.block.setRecords(g.n, gs.lists.add(m))
	v.list, v.chain = m, v.chain[:0]
}

// thin drops what no later look-up needs of a group with many occurrences; see occurrenceList.thin.
func (gs *Groups) thin(g Group, horizon, old feed.Time) {
	m := gs.view(g).list
	gs.lists.change(m, func(m *occurrenceList) { gs.occurrences -= m.thin(horizon, old, gs.cfg.slice) })
	m.thinAt = max(gs.cfg.thinFrom, 2*len(m.records))
}

// removeOccurrences removes those that are deleted, and returns how many they were and how many remain.
func (gs *Groups) removeOccurrences(g Group, deleted func(*occurrence) bool) (removed, remaining int) {
	v := gs.view(g)
	if v.list == nil {
		return gs.removeChained(g, v, deleted)
	}
	gs.lists.change(v.list, func(m *occurrenceList) {
		removed = m.retain(func(_ int, o *occurrence) bool { return !deleted(o) })
	})
	gs.occurrences -= removed
	return removed, len(v.list.records)
}

func (gs *Groups) removeChained(g Group, v *view, deleted func(*occurrence) bool) (removed, remaining int) {
	var stay [maxChain + 1]bool
	for i := range v.chain {
		stay[i] = !deleted(&v.chain[i])
		removed += oneIf(!stay[i])
	}
	gs.occurrences -= removed
	remaining = len(v.chain) - removed
	if removed > 0 && remaining > 0 {
		gs.makeList(g, v) // in the same order
		gs.lists.change(v.list, func(m *occurrenceList) { m.retain(func(i int, _ *occurrence) bool { return stay[i] }) })
	}
	return removed, remaining
}

// removeGroup removes a group; its row goes with its block, or is gone.
func (gs *Groups) removeGroup(g Group) {
	r := g.row()
	gs.lists.remove(r)
	gs.tokens.release(gs.numbersOf(g))
	gs.names.remove(r.key(), g.number())
	gs.views.invalidate()
	gs.removed++
}

// dropBlock drops the oldest block, whose groups are gone or have moved.
func (gs *Groups) dropBlock() {
	gs.blocks.drop(1)
	gs.removed++
	gs.views.invalidate()
}

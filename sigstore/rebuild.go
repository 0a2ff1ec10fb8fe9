package sigstore

// shrink builds the window anew when most of its tables is unused.
func (w *Window) shrink() {
	if w.groups.isSparse() {
		w.rebuild()
	}
}

// rebuild numbers the tokens anew and writes every block again.
func (w *Window) rebuild() {
	w.groups.purgeAll()
	before, old := w.groups.renumber()
	w.searcher.renew()
	for _, b := range old {
		w.open()
		to := w.blocks.current()
		to.opened, to.epoch = b.opened, b.epoch
		b.each(func(n uint32) { w.rebuildGroup(Group{b, n}, &before) })
		to.closed, to.full = b.closed, b.full
	}
	w.groups.renumbered(len(old))
	w.searcher.recodeAnew()
}

// rebuildGroup moves a group whose tokens were numbered before.
func (w *Window) rebuildGroup(g Group, before *dictionary) {
	numbers := w.groups.numberAgain(g, before)
	w.searcher.add(numbers)
	w.groups.moveAgain(g, numbers)
}

package sigstore

import "slices"

// moveOn moves a group into the newest block.
func (gs *Groups) moveOn(g Group, numbers []uint32) {
	to := gs.move(g, numbers)
	gs.names.renumber(to.row().key(), g.number(), to.number())
}

// move writes a group anew into the newest block, its token set being numbers.
func (gs *Groups) move(g Group, numbers []uint32) (to Group) {
	r, b := *g.row(), gs.blocks.current()
	if !r.hasList() {
		r.records = b.offset(gs.moveChain(g))
	}
	r.tokens = b.offset(gs.blocks.writeSet(numbers))
	gs.views.invalidate()
	gs.cached = cachedGroup{}
	return Group{b, b.add(r)}
}

// moveChain writes the records of a chain anew, the oldest first.
func (gs *Groups) moveChain(g Group) (newest uint64) {
	gs.chain = gs.readChain(gs.chain, g)
	slices.Reverse(gs.chain)
	sequence, written := g.row().sequence, view{}
	for i := range gs.chain {
		o := &gs.chain[i]
		newest = gs.blocks.write(o, sequence, links{before: newest, text: written.textLike(o.text, i)})
		gs.blocks.read(o, newest, sequence) // for where its text stands now
		written.chain = gs.chain[:i+1]
	}
	return newest
}

// renumber begins to number the tokens anew. Then each group of the blocks that are there, the old ones, has to move again.
func (gs *Groups) renumber() (before dictionary, old []*block) {
	gs.names = table{}
	return gs.tokens.renew(), gs.blocks.renew()
}

// numberAgain are the new numbers of the tokens of a group, to be read at once.
func (gs *Groups) numberAgain(g Group, before *dictionary) []uint32 {
	numbers := gs.numbersOf(g)
	for i, n := range numbers {
		numbers[i] = gs.tokens.acquire(before.id(n))
	}
	slices.Sort(numbers)
	return numbers
}

// moveAgain moves a group whose tokens are numbered anew.
func (gs *Groups) moveAgain(g Group, numbers []uint32) { gs.name(gs.move(g, numbers)) }

// renumbered ends what renumber began: the old blocks go.
func (gs *Groups) renumbered(old int) {
	gs.blocks.drop(old)
	gs.lists.clip()
	gs.peak = gs.len()
	gs.removed++
}

// isSparse reports whether most of the tables is unused.
func (gs *Groups) isSparse() bool {
	return gs.tokens.sparse() || gs.peak >= 1024 && gs.len() < gs.peak/4
}

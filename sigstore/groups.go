package sigstore

import (
	"cmp"
	"slices"

	"refrain/feed"
)

// Groups are the texts of a window: what their tokens are, and where, when and by whom they were said. They lie in the
// window's blocks, and know no clock: the window says what may go.
//
//	Get, Has                              the group of a text; whether a sentence is there
//	Hash, Sets                            what the texts are
//	Earlier, EachLater, EachNew,
//	CountLater, MaxLater, History         what a sentence and the occurrences of a group make of each other
//
// The window takes in (newGroup, addOccurrence, thin), takes out (deletePosts, removeOccurrences, removeGroup,
// dropBlock), moves to the newest block (numbersOf, moveOn), and numbers the tokens anew (renumber, numberAgain,
// moveAgain, renumbered).
type Groups struct {
	cfg         *groupsConfig
	blocks      *blocks
	tokens      *dictionary
	names       table // numbers of groups, by half of the name
	peak        int   // most groups
	lists       occurrenceLists
	views       views
	purge       purge
	purged      int // occurrences that it has removed
	remote      remoteGroups
	occurrences int
	removed     int // grows when a group goes: see removals
	cached      cachedGroup

	// Scratch.
	numbers []uint32
	ids     []uint64
	chain   []occurrence
}

// groupsConfig says within which span a sentence repeats another, and how occurrences are thinned.
type groupsConfig struct {
	span, slice feed.Time
	thinFrom    int
	authorKey   AuthorKey
}

func newGroups(cfg groupsConfig, in *blocks, tokens *dictionary) *Groups {
	return &Groups{cfg: &cfg, blocks: in, tokens: tokens, remote: remoteGroups{cfg: &cfg}}
}

// Get returns the group of x's token set, or none. A sentence is asked for several times in a row: its tokens are
// compared once.
func (gs *Groups) Get(x *feed.Sentence) Group {
	if gs.cached.hash == x.Group && gs.cached.removals == gs.removed && !gs.cached.group.IsNone() {
		return gs.cached.group
	}
	g := gs.keyed(keyOfHash(&x.Group), func(g Group) bool { return gs.isOf(g, x.Tokens) })
	gs.cached = cachedGroup{x.Group, g, gs.removed}
	return g
}

// touch reads a word for each sentence where the search for its group begins, for nothing: the memory of all comes together.
func (gs *Groups) touch(xs []*feed.Sentence) (sum uint64) {
	for _, x := range xs {
		sum += gs.names.word(keyOfHash(&x.Group))
	}
	return sum
}

// cachedGroup is what Get found last, after so many removals of groups.
type cachedGroup struct {
	hash     feed.Hash
	group    Group
	removals int
}

// keyed is a group of a key for which is holds, or none. Several groups may have one key: see keyOfHash.
func (gs *Groups) keyed(key uint64, matches func(Group) bool) (g Group) {
	_, ok := gs.names.find(key, func(number uint32) bool {
		g = gs.blocks.numbered(number)
		return g.row().key() == key && matches(g)
	})
	if !ok || !gs.clean(g) {
		return Group{}
	}
	return g
}

// isOf reports whether g's token set is that of the ids, which are ascending.
func (gs *Groups) isOf(g Group, ids []uint64) bool {
	if g.Size() != len(ids) {
		return false
	}
	for _, n := range gs.numbersOf(g) {
		if _, ok := slices.BinarySearch(ids, gs.tokens.id(n)); !ok {
			return false
		}
	}
	return true
}

// Has reports whether x has been inserted: the same sentence of the same version of a post, at the same time.
func (gs *Groups) Has(x *feed.Sentence) bool { return gs.holds(gs.Get(x), x) }

// holds is Has where x's group, or none, is known.
func (gs *Groups) holds(g Group, x *feed.Sentence) bool { return !g.IsNone() && gs.view(g).has(x) }

// removals grows when a group goes: what was found before may be no more.
func (gs *Groups) removals() int { return gs.removed }

// len is the number of groups.
func (gs *Groups) len() int { return gs.names.live }

// size is what they are, and how often they were said as far as that is kept.
func (gs *Groups) size() (groups, occurrences int) { return gs.len(), gs.occurrences }

// Hash is the name of a group's token set.
func (gs *Groups) Hash(g Group) feed.Hash { return feed.GroupHash(gs.idsOf(g)) }

// idsOf are the ids of a group's tokens, ascending, to be read at once.
func (gs *Groups) idsOf(g Group) []uint64 {
	gs.ids = gs.ids[:0]
	for _, n := range gs.numbersOf(g) {
		gs.ids = append(gs.ids, gs.tokens.id(n))
	}
	slices.Sort(gs.ids)
	return gs.ids
}

// numbersOf are the numbers of a group's tokens, ascending, to be read at once.
func (gs *Groups) numbersOf(g Group) []uint32 {
	gs.numbers = readSet(gs.numbers[:0], g.set())
	return gs.numbers
}

// Sets visits the token sets of up to n rows from one on, in the order in which they were made but for texts that
// stayed alive longer than others, and says where to go on. Ids are ascending, and only lent. Rows that have gone are
// left out.
func (gs *Groups) Sets(from Row, n int, visit func(ids []uint64)) (next Row, more bool) {
	bs := gs.blocks
	if from.Block < bs.first() {
		from = Row{Block: bs.first()}
	}
	for ; n > 0 && bs.contains(from.Block); n-- {
		g := bs.group(from)
		if int(from.Row) >= g.block.rows {
			from = Row{Block: from.Block + 1}
			continue
		}
		if g.isAlive() {
			visit(gs.idsOf(g))
		}
		from.Row++
	}
	return from, bs.contains(from.Block)
}

// view is the occurrences of a group. It is valid until the group changes, and until the view of the second other
// group after it.
func (gs *Groups) view(g Group) *view {
	slot := gs.views.slot(g)
	if slot.of != g {
		slot.of = g
		gs.read(&slot.view, g)
	}
	return &slot.view
}

// read fills a view.
func (gs *Groups) read(v *view, g Group) {
	r := g.row()
	if r.hasList() {
		v.list = gs.lists.of(r)
		return
	}
	v.list, v.chain = nil, gs.readChain(v.chain, g)
	slices.SortFunc(v.chain, func(a, b occurrence) int {
		return cmp.Or(a.key().compare(b.key()), cmp.Compare(a.version, b.version))
	})
}

// readChain overwrites dst with the occurrences of a chain, the newest first.
func (gs *Groups) readChain(dst []occurrence, g Group) []occurrence {
	dst = dst[:0]
	sequence := g.row().sequence
	for pos := g.newest(); pos != 0; {
		dst = append(dst, occurrence{})
		pos = gs.blocks.read(&dst[len(dst)-1], pos, sequence)
	}
	return dst
}

func (gs *Groups) bytes() int64 {
	return gs.lists.bytes() + gs.names.bytes() + gs.tokens.bytes() + gs.remote.bytes()
}

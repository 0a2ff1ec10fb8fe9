package prefix

import "slices"

// node is a line of the cache with 16 links, to the lists that a long one was cut into. How, follows from how often it
// was cut before: see cuts.
type node []uint64

const (
	nodeLinks     = 16
	nodeUnits     = nodeLinks / 2 / unitWords
	nodeUnitClass = 2 // of chunks of as many units

	ownSlot  = 0 // of a node by token or by hash: the list of the key itself
	keySlots = nodeLinks - 1
)

// cut is one way to cut a list.
type cut struct {
	by    int
	class int // of its chunk, when it is cut because that is full
}

const (
	// bySize cuts by the bucket of the rows' sizes, and byCell by their size and how many tokens they pass over, so
	// that a search reads only what may match. The postings of the list are moved.
	bySize = iota
	byCell
	// byToken posts rows under keys of one token more, those of the newest chunk too, and byHash cuts the list of a
	// slot, which is of many such keys, by more of the hash. What that has by then stays in it.
	byToken
	byHash
	nothing // the list goes on as it is
)

// cuts are those of a list, one after the other. Sizes and cells come first: they cost no posting, where keys of two
// tokens for all rows take three times as many, and leave out most of what does not match. A list that is apart from
// others costs as much as some 50 postings in a row, so no short one is cut (docs/design/0008-engines.md).
var cuts = [...]cut{
	{by: bySize, class: 8},
	{by: byCell, class: 12},
	{by: byToken, class: 12},
	{by: byHash, class: 8},
	{by: nothing, class: nodeClass},
}

const (
	maxLength = 2 // of a key, in tokens
	maxKeys   = 4 // a row that would have more of two tokens with the same first stays under that: there are 15 slots
)

func (n node) at(slot int) link     { return link(half(n[slot/2], slot%2)) }
func (n node) set(slot int, k link) { setHalf(&n[slot/2], slot%2, uint32(k)) }

func (l *lists) node(k link) node { return node(l.memory(k.unit(), nodeUnits)) }

// cut makes a node of a list, whose first token is given. Unless it is cut by token it is of one chunk.
func (l *lists) cut(h link, first uint32, done int) link {
	to := newLink(l.alloc(nodeUnitClass).unit(), nodeClass)
	n := l.node(to)
	switch by := cuts[done].by; by {
	case byToken:
		l.longer = true
		l.moveLonger(h, n, first, done)
	case byHash:
		n.set(ownSlot, h)
	default:
		l.move(h, n, by)
	}
	return to
}

// moveLonger posts the rows of a list's newest chunk under keys of one token more, but for those that are no more. The
// chunks behind it stay with the key itself: nearly all of their rows have none that is longer, or the list would have
// been cut before. So however long the chain, no more than a chunk is moved while a row is added.
func (l *lists) moveLonger(h link, to node, first uint32, done int) {
	to.set(ownSlot, l.behind(h))
	c, n := l.chunk(h), capacity[h.class()]
	for i := c.free(n); i < n; i++ {
		if e := l.entryOf(c.at(n, i)); e != nil {
			passed := slices.Index(e.tokens, first) // the posting says it only if it is low
			l.putLonger(to, e, key{passed: uint8(passed), length: 1}, done)
		}
	}
	l.release(h)
}

// move moves the postings of a chunk into the lists of a node by size or by cell.
func (l *lists) move(h link, to node, by int) {
	c, n := l.chunk(h), capacity[h.class()]
	for i := c.free(n); i < n; i++ {
		p := c.at(n, i)
		slot := l.buckets.of[p.meta.size()]
		if by == byCell {
			slot = l.buckets.slot(p.meta.size(), p.at.passed())
		}
		to.set(int(slot), l.append(to.at(int(slot)), p))
	}
	l.release(h)
}

// putBelow adds an entry to the lists of a node that it belongs to.
func (l *lists) putBelow(n node, e *entry, k key, done int) {
	switch cuts[done].by {
	case bySize:
		l.putAt(n, int(l.buckets.of[e.meta.size()]), e, k, done)
	case byCell:
		l.putAt(n, int(l.buckets.slot(e.meta.size(), k.capped())), e, k, done)
	case byHash:
		l.putAt(n, hashSlot(e.tokens[k.last()]), e, k, done)
	default:
		l.putLonger(n, e, k, done)
	}
}

func (l *lists) putAt(n node, slot int, e *entry, k key, done int) {
	n.set(slot, l.put(n.at(slot), e, k, done+1))
}

// putLonger adds an entry under its keys of one token more or, if it has none, to the list of the key itself.
func (l *lists) putLonger(n node, e *entry, k key, done int) {
	if !e.goesOn(k) || !e.knows() {
		n.set(ownSlot, l.append(n.at(ownSlot), e.posting(k)))
		return
	}
	for longer := k.longer(); int(longer.passed) < e.prefix; longer.passed++ {
		l.putAt(n, tokenSlot(e.tokens[longer.last()]), e, longer, done)
	}
}

// tokenSlot is a token's slot in a node by token, and hashSlot in one by hash.
func tokenSlot(token uint32) int { return 1 + int(token*0x9e3779b1>>24)*keySlots>>8 }
func hashSlot(token uint32) int  { return 1 + int(token*0x9e3779b1>>16&255)*keySlots>>8 }

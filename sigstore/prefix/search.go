package prefix

import (
	"math/bits"
	"slices"

	"refrain/hashcodes"
	"refrain/sigstore"
)

// search is a search under way.
type search struct {
	query   *sigstore.Query
	unknown int  // tokens of the query that no row holds: they come first in every order
	meta    meta // of the query
	filter  *filter
	bounds  *hashcodes.SizeBounds
	tokens  []uint32 // of the query, the rarest that rows hold, in order
	heads   []link
	probes  []probe
	seen    seen

	alone    hashcodes.Signature // bits of which the query's counters tell; nil: of none
	own, row hashcodes.Signature // of the query and of a row, those bits
}

// probe is a list to be read, or a node.
type probe struct {
	memory chunk
	first  uint64 // word of it: reading that is what asks for the memory
	class  uint8  // of the link to it
	cuts   uint8  // before it
	bucket uint8  // of sizes, after the first cut
	rare   bool   // the list is long, and the order takes its first token for rare
	key    key    // of the query
}

func (x *index) Search(queries []sigstore.Query) {
	for i := range queries {
		x.find(&queries[i])
	}
}

// find appends the candidates.
func (x *index) find(q *sigstore.Query) {
	unknown := q.Size - len(q.Tokens)
	bounds := x.filters.bounds.For(q.Size)
	if unknown >= bounds.Prefix {
		return
	}
	s := &x.search
	s.query, s.unknown, s.bounds = q, unknown, bounds
	s.meta, s.filter = newMeta(q.Size, q.Signature), x.filters.of(q.Size)
	s.count()
	for _, g := range x.generations {
		s.seen.begin()
		x.sort(g, q.Tokens, bounds.Prefix+maxLength-1-unknown)
		s.tokens = x.tokens
		s.findLists(g, x.ranks)
		x.readLists(g)
	}
}

// findLists finds the lists of the query's keys. It asks for the memory of all of a level before any is read: then they
// come together.
func (s *search) findLists(g *generation, ranks []rank) {
	s.heads, s.probes = s.heads[:0], s.probes[:0]
	n := min(s.bounds.Prefix-s.unknown, len(s.tokens))
	for _, token := range s.tokens[:n] {
		s.heads = append(s.heads, g.lists.head(token))
	}
	for i, h := range s.heads {
		s.add(g, h, probe{key: key{passed: s.unknown + i, length: 1}, rare: h.class() == nodeClass && ranks[i].isRare()})
	}
	for i := 0; i < len(s.probes); i++ {
		if s.probes[i].class == nodeClass {
			s.open(g, s.probes[i])
		}
	}
}

// add adds what a link leads to, to p.
func (s *search) add(g *generation, to link, p probe) {
	if to == 0 {
		return
	}
	p.class = uint8(to.class())
	if p.class == nodeClass {
		p.memory = chunk(g.lists.node(to))
	} else {
		p.memory = g.lists.chunk(to)
	}
	p.first = p.memory[0]
	s.probes = append(s.probes, p)
}

// open adds the lists of a node that may have a partner.
func (s *search) open(g *generation, p probe) {
	n, by := node(p.memory), cuts[p.cuts].by
	p.cuts++
	switch by {
	case bySize:
		for p.bucket = s.filter.low; p.bucket <= s.filter.high[p.key.passed]; p.bucket++ {
			s.add(g, n.at(int(p.bucket)), p)
		}
	case byPassed:
		for passed := range int(s.filter.passed[p.bucket]) + 1 {
			s.add(g, n.at(passed), p)
		}
	case byHash:
		s.addOwn(g, n, p)
		s.add(g, n.at(hashSlot(s.token(p.key))), p)
	case byToken:
		s.addOwn(g, n, p)
		s.openLonger(g, n, p)
	}
}

// addOwn adds the list that a node by token or by hash has itself, which is not cut.
func (s *search) addOwn(g *generation, n node, p probe) { s.add(g, n.at(ownSlot), p) }

// openLonger adds the lists of the keys of one token more.
func (s *search) openLonger(g *generation, n node, p probe) {
	for p.key = p.key.longer(); p.key.passed < s.bounds.Prefix && p.key.last() < s.query.Size; p.key.passed++ {
		if s.filter.high[p.key.passed] < p.bucket {
			return
		}
		s.add(g, n.at(tokenSlot(s.token(p.key))), p)
	}
}

// token is the last of a key.
func (s *search) token(k key) uint32 { return s.tokens[k.last()-s.unknown] }

// readLists reads the lists that were found.
func (x *index) readLists(g *generation) {
	s, wasted := &x.search, 0
	x.listsRead += int64(len(s.probes))
	for i := range s.probes {
		p := &s.probes[i]
		if p.class == nodeClass {
			continue
		}
		if s.query.Full() {
			break
		}
		read := x.read(g, p)
		x.met += int64(read)
		if p.rare {
			wasted += read
		}
	}
	g.searched(wasted)
}

// read goes through a list. The next chunk of a chain is asked for before one is read.
func (x *index) read(g *generation, p *probe) (postings int) {
	limit := &x.search.filter.limit
	want := uint64(x.search.meta)
	c, n, first := p.memory, capacity[p.class], p.first
	for {
		next, room, nextFirst := g.lists.after(c, n)
		i := 0
		if uint8(first) == 0 {
			i = n - int(first>>8)
		}
		postings += n - i
		for k, m := range c[i:n] {
			if bits.OnesCount64((m^want)>>(64-signatureBits)) < int(limit[uint8(m)]) {
				x.addHit(g, p.key.passed, c.at(n, i+k))
			}
		}
		if next == nil || x.search.query.Full() {
			return postings
		}
		c, n, first = next, room, nextFirst
	}
}

// after is the chunk that follows one of capacity n in its chain, what that has room for, and its first word.
func (l *lists) after(c chunk, n int) (next chunk, room int, first uint64) {
	if n < capacity[tail] {
		return nil, 0, 0
	}
	k := c.next()
	if k == 0 {
		return nil, 0, 0
	}
	next = l.chunk(k)
	return next, capacity[k.class()], next[0]
}

// count prepares the query's counters.
func (s *search) count() {
	words := len(s.query.Signature)
	if s.alone = nil; s.query.Counters == nil || words >= len(alone) {
		return
	}
	s.alone = alone[words]
	s.own, s.row = resized(s.own, len(s.alone)), resized(s.row, len(s.alone))
	s.meta.only(s.own, s.alone)
}

func resized(s hashcodes.Signature, n int) hashcodes.Signature { return slices.Grow(s[:0], n)[:n] }

// mayMatch asks the counters. A size that stands for two is let pass.
func (s *search) mayMatch(m meta) bool {
	if s.alone == nil || m.size() == lastSize {
		return true
	}
	m.only(s.row, s.alone)
	own, other := s.bounds.Apart(int(m.size()))
	return s.query.Counters.Within(s.own, s.row, own, other)
}

// addHit adds the row of a posting to the hits unless it is dropped, seen before, has too few tokens left, those passed
// over not being common, or the counters leave it out.
func (x *index) addHit(g *generation, passed int, p posting) {
	s := &x.search
	m := p.meta.size()
	row := g.first + uint64(p.at.row())
	remaining := min(s.query.Size-passed, int(m)-p.at.passed())
	if remaining < int(s.filter.overlap[m]) || row < x.oldest() || !s.seen.add(p.at.row()) || !s.mayMatch(p.meta) {
		return
	}
	s.query.Hits = append(s.query.Hits, x.at(row))
}

func (s *search) bytes() int64 {
	return 8*int64(cap(s.seen.rows)) + 56*int64(cap(s.probes)) + 4*int64(cap(s.heads))
}

package prefix

import (
	"math/bits"
	"slices"

	"refrain/hashcodes"
	"refrain/sigstore"
)

// search is a search under way.
type search struct {
	query  *sigstore.Query
	meta   meta // of the query
	filter *filter
	bounds *hashcodes.SizeBounds
	heads  []link
	probes []probe
	seen   seen

	alone    hashcodes.Signature // bits of which the query's holders tell; nil: of none
	own, row hashcodes.Signature // of the query and of a row, those bits
}

// probe is a list to be read.
type probe struct {
	chunk    chunk
	first    uint64 // word of it: reading that is what asks for the memory
	capacity int
	position int  // of its token in the query
	rare     bool // the order takes its token for rare
}

func (x *index) Search(queries []sigstore.Query) {
	for i := range queries {
		x.find(&queries[i])
	}
}

// find appends the candidates. Tokens that no row holds come first in every order.
func (x *index) find(q *sigstore.Query) {
	unknown := q.Size - len(q.Tokens)
	bounds := x.filters.bounds.For(q.Size)
	n := bounds.Prefix - unknown
	if n <= 0 {
		return
	}
	s := &x.search
	s.query, s.meta, s.filter, s.bounds = q, newMeta(q.Size, q.Signature), x.filters.of(q.Size), bounds
	s.count()
	for _, g := range x.generations {
		s.seen.begin()
		x.keys = g.order.rarest(x.keys, q.Tokens, n)
		s.probe(g, x.keys, unknown)
		wasted := 0
		for i := range s.probes {
			p := &s.probes[i]
			if q.Full() {
				break
			}
			if read := x.read(g, p); p.rare {
				wasted += read
			}
		}
		g.searched(wasted)
	}
}

// probe finds the lists of a prefix, those of directories one by one. It asks for the memory of all of them before
// any is read: then they come together.
func (s *search) probe(g *generation, prefix []key, unknown int) {
	s.heads, s.probes = s.heads[:0], s.probes[:0]
	for _, k := range prefix {
		s.heads = append(s.heads, g.lists.head(s.query.Tokens[k.position()]))
	}
	for i, h := range s.heads {
		switch {
		case h == 0:
		case h.class() == directory:
			s.open(g, g.lists.directory(h), probe{position: i + unknown, rare: prefix[i].isRare()})
		default:
			s.add(g, h, probe{position: i + unknown})
		}
	}
}

// open adds the lists of a directory that are of the sizes sought.
func (s *search) open(g *generation, directory chunk, p probe) {
	for b := s.filter.low; b <= s.filter.high[p.position]; b++ {
		if h := link(half(directory[b/2], int(b%2))); h != 0 {
			s.add(g, h, p)
		}
	}
}

// add completes p with the list at k, and adds it.
func (s *search) add(g *generation, k link, p probe) {
	p.chunk, p.capacity = g.lists.chunk(k), capacity[k.class()]
	p.first = p.chunk[0]
	s.probes = append(s.probes, p)
}

// read goes through a list. The next chunk of a chain is asked for before one is read.
func (x *index) read(g *generation, p *probe) (postings int) {
	limit := &x.search.filter.limit
	want := uint64(x.search.meta)
	c, n, first := p.chunk, p.capacity, p.first
	for {
		next, room, nextFirst := g.lists.after(c, n)
		i := 0
		if uint8(first) == 0 {
			i = n - int(first>>8)
		}
		postings += n - i
		for k, m := range c[i:n] {
			if bits.OnesCount64((m^want)>>(64-signatureBits)) < int(limit[uint8(m)]) {
				x.addHit(g, p.position, c.at(n, i+k))
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

// count prepares what the query's holders are asked.
func (s *search) count() {
	words := len(s.query.Signature)
	if s.alone = nil; s.query.Holders == nil || words >= len(alone) {
		return
	}
	s.alone = alone[words]
	s.own, s.row = resized(s.own, len(s.alone)), resized(s.row, len(s.alone))
	s.meta.only(s.own, s.alone)
}

func resized(s hashcodes.Signature, n int) hashcodes.Signature { return slices.Grow(s[:0], n)[:n] }

// mayMatch asks the holders. A size that stands for two is let pass.
func (s *search) mayMatch(m meta) bool {
	if s.alone == nil || m.size() == lastSize {
		return true
	}
	m.only(s.row, s.alone)
	tokens, further := s.bounds.Apart(int(m.size()))
	return s.query.Holders.Within(s.own, s.row, tokens, further)
}

// addHit adds the row of a posting to the hits unless it is dropped, seen before, has too few tokens left, those before
// the first common one not being common, or the holders leave it out.
func (x *index) addHit(g *generation, position int, p posting) {
	s := &x.search
	m := p.meta.size()
	row := g.first + uint64(p.at.row())
	remaining := min(s.query.Size-position, int(m)-p.at.position())
	if remaining < int(s.filter.overlap[m]) || row < x.oldest() || !s.seen.add(p.at.row()) || !s.mayMatch(p.meta) {
		return
	}
	s.query.Hits = append(s.query.Hits, x.at(row))
}

func (s *search) bytes() int64 {
	return 8*int64(cap(s.seen.rows)) + 56*int64(cap(s.probes)) + 4*int64(cap(s.heads))
}

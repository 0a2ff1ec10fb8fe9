package prefix

import (
	"math/bits"

	"refrain/sigstore"
)

// search is a search under way.
type search struct {
	query  *sigstore.Query
	meta   meta // of the query
	filter *filter
	heads  []link
	probes []probe
	seen   seen
}

// probe is a list to be read.
type probe struct {
	chunk    chunk
	first    uint64 // word of it: reading that is what asks for the memory
	capacity int
	position int // of its token in the query
}

func (x *index) Search(queries []sigstore.Query) {
	for i := range queries {
		x.find(&queries[i])
	}
}

// find appends the candidates. Tokens that no row holds come first in every order.
func (x *index) find(q *sigstore.Query) {
	unknown := q.Size - len(q.Tokens)
	n := x.filters.bounds.For(q.Size).Prefix - unknown
	if n <= 0 {
		return
	}
	s := &x.search
	s.query, s.meta, s.filter = q, newMeta(q.Size, q.Signature), x.filters.of(q.Size)
	for _, g := range x.generations {
		s.seen.begin()
		x.keys = g.order.rarest(x.keys, q.Tokens, n)
		s.probe(g, x.keys, unknown)
		for i := range s.probes {
			x.read(g, &s.probes[i])
		}
	}
}

// probe finds the lists of a prefix, those of directories one by one. It asks for the memory of all of them before
// any is read: then they come together.
func (s *search) probe(g *generation, prefix []key, unknown int) {
	s.heads, s.probes = s.heads[:0], s.probes[:0]
	for _, k := range prefix {
		s.heads = append(s.heads, g.lists.head(s.query.Tokens[k.place()]))
	}
	for i, h := range s.heads {
		switch {
		case h == 0:
		case h.class() == directory:
			s.open(g, g.lists.directory(h), i+unknown)
		default:
			s.add(g, h, i+unknown)
		}
	}
}

// open adds the lists of a directory that are of the sizes sought.
func (s *search) open(g *generation, directory chunk, position int) {
	for b := s.filter.low; b <= s.filter.high[position]; b++ {
		if h := link(half(directory[b/2], int(b%2))); h != 0 {
			s.add(g, h, position)
		}
	}
}

func (s *search) add(g *generation, k link, position int) {
	c := g.lists.chunk(k)
	s.probes = append(s.probes, probe{c, c[0], capacity[k.class()], position})
}

// read goes through a list.
func (x *index) read(g *generation, p *probe) {
	limit := &x.search.filter.limit
	want := uint64(x.search.meta)
	c, n, first := p.chunk, p.capacity, p.first
	for {
		i := 0
		if uint8(first) == 0 {
			i = n - int(first>>8)
		}
		for k, m := range c[i:n] {
			if bits.OnesCount64((m^want)>>(64-signatureBits)) < int(limit[uint8(m)]) {
				x.take(g, p.position, c.at(n, i+k))
			}
		}
		k := c.next()
		if k == 0 {
			return
		}
		c, n = g.lists.chunk(k), capacity[k.class()]
		first = c[0]
	}
}

// take adds the row of a posting to the hits unless it is dropped, met before, or has too few tokens left: those
// before the first common one are not common.
func (x *index) take(g *generation, position int, p posting) {
	s := &x.search
	m := p.meta.size()
	row := g.first + uint64(p.place.row())
	left := min(s.query.Size-position, int(m)-p.place.position())
	if left < int(s.filter.overlap[m]) || row < x.oldest() || !s.seen.add(p.place.row()) {
		return
	}
	s.query.Hits = append(s.query.Hits, x.at(row))
}

func (s *search) bytes() int64 {
	return 8*int64(cap(s.seen.rows)) + 48*int64(cap(s.probes)) + 4*int64(cap(s.heads))
}

package prefix

import (
	"math/bits"
	"slices"

	"refrain/hashcodes"
	"refrain/sigstore"
)

// search is a search under way: of some queries at once, in all generations.
type search struct {
	runs    []run
	heads   []link
	level   []probe // lists and nodes that are as far below their heads as the search has come
	below   []probe // those one further down
	read    int     // lists and nodes
	touched uint64  // words that were read for nothing: were they not used, the compiler would leave that out

	// Of the run whose lists are being read.
	*run
	seen     seen
	alone    hashcodes.Signature // bits of which the query's holders tell; nil: of none
	own, row hashcodes.Signature // of the query and of a row, those bits
}

// run is the search of one query in one generation.
type run struct {
	query   *sigstore.Query
	in      *generation
	from    uint64 // row before which it has none that is alive and in no other generation
	unknown int    // tokens of the query that no row holds: they come first in every order
	meta    meta   // of the query
	filter  *filter
	bounds  *hashcodes.SizeBounds
	sorted  sorted  // of the tokens that rows hold
	lists   []probe // found
}

// probe is a list to be read, or a node.
type probe struct {
	at     link
	run    uint16
	key    key   // of the query
	cuts   uint8 // before it
	bucket uint8 // its slot in the node by size
	cell   uint8 // its slot in the node by cell
	rare   bool  // the list is long, and the order takes its first token for rare
}

const (
	probeBytes = 12
	runBytes   = 128
	maxBatch   = 8 // queries that are searched for at once
)

// Search finds the lists of some queries at once, so that their memory comes together, and reads them then.
func (x *index) Search(queries []sigstore.Query) {
	for batch := range slices.Chunk(queries, maxBatch) {
		s := &x.search
		s.runs, s.read = s.runs[:0], 0
		for i := range batch {
			x.addRuns(&batch[i])
		}
		s.findLists()
		x.listsRead += int64(s.read)
		for i := range s.runs {
			x.readLists(&s.runs[i])
			s.runs[i].query, s.runs[i].in = nil, nil // a generation that goes is not to be held
		}
	}
}

// addRuns begins the search for a query.
func (x *index) addRuns(q *sigstore.Query) {
	unknown, bounds := q.Size-len(q.Tokens), x.filters.bounds.For(q.Size)
	if unknown >= bounds.Prefix {
		return
	}
	for _, g := range x.generations {
		r := x.search.newRun()
		r.query, r.in, r.unknown, r.bounds, r.from = q, g, unknown, bounds, max(g.from, x.oldest())
		r.meta, r.filter, r.lists = newMeta(q.Size, q.Signature), x.filters.of(q.Size), r.lists[:0]
		r.sorted.sort(g, q.Tokens, bounds.Prefix-unknown)
	}
}

// newRun is one more, with the memory of one of before.
func (s *search) newRun() *run {
	if n := len(s.runs); n < cap(s.runs) {
		s.runs = s.runs[:n+1]
	} else {
		s.runs = append(s.runs, run{})
	}
	return &s.runs[len(s.runs)-1]
}

// findLists finds the lists of the queries' keys. It asks for the memory of all of a level before any is looked at:
// then they come together.
func (s *search) findLists() {
	s.findHeads()
	for len(s.level) > 0 {
		s.touch(s.level)
		s.read += len(s.level)
		s.below = s.below[:0]
		for i := range s.level {
			p := &s.level[i]
			if r := &s.runs[p.run]; p.at.class() == nodeClass {
				s.open(r, *p)
			} else {
				r.lists = append(r.lists, *p)
			}
		}
		s.level, s.below = s.below, s.level
	}
}

// findHeads begins with the lists of single tokens. All links are read before any is looked at.
func (s *search) findHeads() {
	s.heads, s.level = s.heads[:0], s.level[:0]
	for i := range s.runs {
		r := &s.runs[i]
		for _, token := range r.prefix() {
			s.heads = append(s.heads, r.in.lists.head(token))
		}
	}
	heads := s.heads
	for n := range s.runs {
		own := len(s.runs[n].prefix())
		s.addHeads(n, heads[:own])
		heads = heads[own:]
	}
}

// addHeads adds the lists of the tokens of a run.
func (s *search) addHeads(run int, heads []link) {
	r := &s.runs[run]
	for i, h := range heads {
		if h != 0 {
			rare := h.class() == nodeClass && r.sorted.ranks[i].isRare()
			s.level = append(s.level, probe{at: h, run: uint16(run), key: key{uint8(r.unknown + i), 1}, rare: rare})
		}
	}
}

// prefix is the tokens under which a partner may be posted.
func (r *run) prefix() []uint32 {
	return r.sorted.tokens[:min(r.bounds.Prefix-r.unknown, len(r.sorted.tokens))]
}

// open adds the lists of a node that may have a partner.
func (s *search) open(r *run, p probe) {
	n, by := r.in.lists.node(p.at), cuts[p.cuts].by
	p.cuts++
	switch by {
	case bySize:
		for slots := r.filter.sizes[p.key.capped()]; slots != 0; {
			p.bucket = slots.next()
			s.add(n.at(int(p.bucket)), p)
		}
	case byCell:
		for slots := r.filter.cells[p.key.capped()][p.bucket]; slots != 0; {
			p.cell = slots.next()
			s.add(n.at(int(p.cell)), p)
		}
	case byHash:
		s.add(n.at(ownSlot), p)
		s.add(n.at(hashSlot(r.token(p.key))), p)
	case byToken:
		s.add(n.at(ownSlot), p)
		s.openLonger(r, n, p)
	}
}

// add adds what a link leads to, to p.
func (s *search) add(to link, p probe) {
	if to != 0 {
		p.at = to
		s.below = append(s.below, p)
	}
}

// openLonger adds the lists of the keys of one token more.
func (s *search) openLonger(r *run, n node, p probe) {
	for p.key = p.key.longer(); int(p.key.passed) < r.bounds.Prefix && p.key.last() < r.query.Size; p.key.passed++ {
		if !r.filter.cells[p.key.capped()][p.bucket].has(p.cell) {
			return
		}
		s.add(n.at(tokenSlot(r.token(p.key))), p)
	}
}

// token is the last of a key.
func (r *run) token(k key) uint32 { return r.sorted.tokens[k.last()-r.unknown] }

// touch reads a word of each list and node, for nothing: then their memory comes together. Nothing is decided by what
// it reads, or the processor would wait for one before it asks for the next.
func (s *search) touch(all []probe) {
	sum := uint64(0)
	for i := range all {
		l, unit := &s.runs[all[i].run].in.lists, all[i].at.unit()
		sum += l.pages[unit/pageUnits][unit%pageUnits*unitWords]
	}
	s.touched += sum
}

// touchRest reads a word of each further line of the cache that the metas of the lists are in, and the link to the next
// chunk.
func (r *run) touchRest() (sum uint64) {
	for i := range r.lists {
		c, n := r.in.lists.chunk(r.lists[i].at), capacity[r.lists[i].at.class()]
		sum += c[len(c)-1]
		for w := n - c.used(n); w < n; w += lineWords {
			sum += c[w]
		}
	}
	return sum
}

const lineWords = 8 // of the cache

// readLists reads the lists that were found.
func (x *index) readLists(r *run) {
	x.search.begin(r)
	x.search.touched += r.touchRest()
	wasted := 0
	for i := range r.lists {
		if r.query.Full() {
			break
		}
		p := &r.lists[i]
		read := x.read(p)
		x.met += int64(read)
		if p.rare {
			wasted += read
		}
	}
	r.in.searched(wasted)
}

// begin begins to read the lists of a run.
func (s *search) begin(r *run) {
	s.run = r
	s.seen.begin()
	s.count()
}

// read goes through a list. The next chunk of a chain is asked for before one is read.
func (x *index) read(p *probe) (postings int) {
	r := x.search.run
	limit, want := &r.filter.limit, uint64(r.meta)
	c, n := r.in.lists.chunk(p.at), capacity[p.at.class()]
	first := c[0]
	for {
		next, room, nextFirst := r.in.lists.after(c, n)
		i := 0
		if uint8(first) == 0 {
			i = n - int(first>>8)
		}
		postings += n - i
		for k, m := range c[i:n] {
			if bits.OnesCount64((m^want)>>(64-signatureBits)) < int(limit[uint8(m)]) {
				x.addHit(int(p.key.passed), c.at(n, i+k))
			}
		}
		if next == nil || r.query.Full() {
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

// addHit adds the row of a posting to the hits unless it is dropped, seen before, has too few tokens left, those passed
// over not being common, or the holders leave it out.
func (x *index) addHit(passed int, p posting) {
	s := &x.search
	m := p.meta.size()
	row := s.in.base + uint64(p.at.row())
	remaining := min(s.query.Size-passed, int(m)-p.at.passed())
	if remaining < int(s.filter.overlap[m]) || row < s.from || !s.seen.add(p.at.row()) || !s.mayMatch(p.meta) {
		return
	}
	s.query.Hits = append(s.query.Hits, x.at(row))
}

func (s *search) bytes() int64 {
	n := 8*int64(cap(s.seen.rows)) + probeBytes*int64(cap(s.level)+cap(s.below)) + 4*int64(cap(s.heads)) + runBytes*int64(cap(s.runs))
	for _, r := range s.runs[:cap(s.runs)] {
		n += probeBytes*int64(cap(r.lists)) + r.sorted.bytes()
	}
	return n
}

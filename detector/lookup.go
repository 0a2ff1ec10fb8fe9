package detector

import (
	"math"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/text"
)

// EachMatch calls found for every pair that x makes with a row of the window: (x, group of the row) where the row is
// earlier, (row, group of x) where it is later. Whether x itself is in the window makes no difference. A pair may be
// reported again by the look-up of its other sentence: same id. The match is found's until it returns.
func (p *Partition) EachMatch(x *feed.Sentence, found func(*feed.Match)) {
	p.lookup(x, p.bounds, false, found)
}

// EachMatchFrom is EachMatch for a threshold that is at least the window's.
func (p *Partition) EachMatchFrom(t text.Threshold, x *feed.Sentence, found func(*feed.Match)) {
	p.lookup(x, hashcodes.NewBounds(p.cfg.Similarity.At(t), 1), false, found)
}

// EachNewMatch is EachMatch without the matches that an earlier call has reported. That needs a feed in which every
// sentence is looked up and inserted in one order, before or after its look-up, and none is looked up without
// those before it. Two versions of a post that share a sentence share its events too: those may come twice, and
// so may the events of a redelivery so late that the window knows it no more.
func (p *Partition) EachNewMatch(x *feed.Sentence, found func(*feed.Match)) {
	p.lookup(x, p.bounds, true, found)
}

// Lookup appends what EachMatch finds.
func (p *Partition) Lookup(dst []feed.Match, x *feed.Sentence) []feed.Match {
	p.EachMatch(x, func(m *feed.Match) { dst = append(dst, *m) })
	return dst
}

// LookupNew appends what EachNewMatch finds.
func (p *Partition) LookupNew(dst []feed.Match, x *feed.Sentence) []feed.Match {
	p.EachNewMatch(x, func(m *feed.Match) { dst = append(dst, *m) })
	return dst
}

// Probe looks x up for its cost alone: what it finds is thrown away, and it counts nowhere.
func (p *Partition) Probe(x *feed.Sentence) {
	before := p.counts
	p.lookup(x, p.bounds, false, func(*feed.Match) {})
	p.counts = before
}

// Expect says which sentences will be looked up next; see sigstore.Searcher.Expect.
func (p *Partition) Expect(xs []*feed.Sentence) { p.searcher.Expect(xs) }

// Has reports whether x is in the window: then it is a redelivery.
func (p *Partition) Has(x *feed.Sentence) bool { return p.groups.Has(x) }

func (p *Partition) lookup(x *feed.Sentence, bounds *hashcodes.Bounds, once bool, found func(*feed.Match)) {
	p.counts.Lookups++
	l := lookup{p: p, x: x, bounds: bounds.For(len(x.Tokens)), once: once, own: p.groups.Get(x), near: p.near[:0],
		found: found}
	l.search()
	if l.truncated {
		p.counts.Truncated++
	}
	l.report()
	p.near = l.near
}

// lookup is one look-up under way.
type lookup struct {
	p      *Partition
	x      *feed.Sentence
	q      *sigstore.Query
	bounds *hashcodes.SizeBounds // of what is similar enough to x
	once   bool
	own    sigstore.Group // x's, if the window has it
	near   []near         // the other groups that are similar enough
	found  func(*feed.Match)

	groups, later int  // reported: groups, and later occurrences
	truncated     bool // there are more matches than may be reported
}

// near is a group that is similar enough, and how many tokens it has in common with x.
type near struct {
	sigstore.Group
	overlap int
}

// candidatesPerGroup is how many candidates a look-up is given before the engine may stop, for each group that it may
// report: in a flood of variants of one text nearly all of them match. Where they do not, the look-up asks for all.
const candidatesPerGroup = 2

// search finds the groups that are near, and whether there are too many matches to report them all.
func (l *lookup) search() {
	s, limit := l.p.searcher, l.p.cfg.MaxMatches
	var groups []sigstore.Group
	groups, l.q = s.Search(l.x)
	l.compare(groups, limit)
	if !l.truncated && l.q.Cut {
		groups, l.q = s.SearchAll(l.x)
		l.compare(groups, limit)
	}
	if most := l.p.cfg.MaxLater; most > 0 && !l.truncated {
		l.truncated = l.exceedsLater(most)
	}
}

// compare finds out which candidates are near, no further than needed to know that more than limit of them match.
func (l *lookup) compare(groups []sigstore.Group, limit int) {
	l.near = l.near[:0]
	counts := limit > 0 && len(groups) > limit
	n := 0
	if counts && !l.own.IsNone() && l.matches(l.own) {
		n++
	}
	for _, g := range groups {
		if g == l.own {
			continue
		}
		overlap, similar := l.overlap(g)
		if !similar {
			continue
		}
		l.near = append(l.near, near{g, overlap})
		if counts && l.matches(g) {
			n++
		}
		if l.truncated = counts && n > limit; l.truncated {
			return
		}
	}
}

// matches reports whether visit would report anything.
func (l *lookup) matches(g sigstore.Group) bool {
	if _, _, ok := l.p.groups.Earlier(g, l.x); ok {
		return true
	}
	return l.p.groups.CountLater(g, l.x, l.once, 0) > 0
}

// exceedsLater reports whether x makes more than limit later occurrences repeats. In a feed that comes in the order of
// its times there are none, and nothing is counted.
func (l *lookup) exceedsLater(limit int) bool {
	most := 0
	l.each(func(g sigstore.Group, _ int) bool {
		most += l.p.groups.MaxLater(g, l.x)
		return most <= limit
	})
	if most <= limit {
		return false
	}
	n := 0
	l.each(func(g sigstore.Group, _ int) bool {
		n += l.p.groups.CountLater(g, l.x, l.once, limit-n)
		return n <= limit
	})
	return n > limit
}

// each visits the groups that are near, x's own first, until visit returns false.
func (l *lookup) each(visit func(g sigstore.Group, overlap int) bool) {
	if !l.own.IsNone() && !visit(l.own, len(l.x.Tokens)) {
		return
	}
	for i := range l.near {
		if n := &l.near[i]; !visit(n.Group, n.overlap) {
			return
		}
	}
}

// report reports the groups that match: all, or the first few where there are too many.
func (l *lookup) report() {
	groups, later := math.MaxInt, math.MaxInt
	if cfg := &l.p.cfg; l.truncated {
		groups, later = limit(cfg.Flood), limit(cfg.FloodLater)
	}
	l.each(func(g sigstore.Group, overlap int) bool {
		l.visit(g, overlap, later)
		return l.groups < groups
	})
}

// limit is n, where 0 is none.
func limit(n int) int {
	if n == 0 {
		return math.MaxInt
	}
	return n
}

// overlap decides on the token sets.
func (l *lookup) overlap(g sigstore.Group) (tokens int, near bool) {
	l.p.counts.Candidates++
	tokens = l.q.Overlap(g)
	m := g.Size() - l.bounds.Min
	near = m >= 0 && m < len(l.bounds.Overlap) && tokens >= int(l.bounds.Overlap[m])
	if near {
		l.p.counts.Similar++
	}
	return tokens, near
}

// visit reports what x and the rows of g make of each other: of its later occurrences the first, and others as long as
// fewer than most have been reported.
func (l *lookup) visit(g sigstore.Group, overlap, most int) {
	any := l.forward(g, overlap)
	later := 0
	l.eachLater(g, func(y *sigstore.Later) bool {
		if later > 0 && l.later >= most {
			return false
		}
		l.backward(g, y, overlap)
		later++
		l.later++
		return true
	})
	if any || later > 0 {
		l.groups++
	}
}

// eachLater visits the rows of a group that x makes repeats, until visit returns false.
func (l *lookup) eachLater(g sigstore.Group, visit func(*sigstore.Later) bool) {
	if l.once {
		l.p.groups.EachNew(g, l.x, visit)
		return
	}
	l.p.groups.EachLater(g, l.x, visit)
}

// forward reports (x, g) if x repeats g.
func (l *lookup) forward(g sigstore.Group, overlap int) bool {
	gs, x := l.p.groups, l.x
	earlier, identical, ok := gs.Earlier(g, x)
	if !ok {
		return false
	}
	m := l.match(g, overlap)
	group := l.hash(g)
	m.ID = feed.EventID(l.p.scheme, x.Source, x.Post, x.Index, x.Group, group)
	m.Group, m.Identical, m.Earlier = group, identical, earlier
	m.Later = laterOf(x)
	m.Coverage, m.Repost, m.TimeAdjusted = float64(x.Coverage), x.Repost, x.TimeAdjusted
	counted := g == l.own && gs.Has(x)
	l.hand(m, gs.History(g, x.Source, x.Author, counted))
	return true
}

// backward reports (y, group of x): y, an occurrence of g, is later than x and repeats it.
func (l *lookup) backward(g sigstore.Group, y *sigstore.Later, overlap int) {
	x := l.x
	m := l.match(g, overlap)
	m.Group, m.Identical, m.Earlier, m.Later = x.Group, y.Identical, occurrenceOf(x), y.Occurrence
	m.Later.Group = l.hash(g)
	m.ID = feed.EventID(l.p.scheme, y.Source, y.Post, y.Sentence, m.Later.Group, x.Group)
	m.Coverage, m.Repost, m.TimeAdjusted = float64(y.Coverage), y.Repost, y.TimeAdjusted
	l.hand(m, l.historyOfOwn(g, y))
}

// historyOfOwn is what is known of x's group when y, of group g, is said to repeat it.
func (l *lookup) historyOfOwn(g sigstore.Group, y *sigstore.Later) sigstore.History {
	gs, x := l.p.groups, l.x
	if l.own.IsNone() {
		return gs.Alone(x, y.Source, y.Author)
	}
	h := gs.History(l.own, y.Source, y.Author, g == l.own)
	if !gs.Has(x) {
		h.Occurrences++
	}
	if (feed.Key{Time: x.Time, Source: x.Source, Post: x.Post}).Compare(
		feed.Key{Time: h.First.Time, Source: h.First.Source, Post: h.First.Post}) < 0 {
		h.First = feed.First{Source: x.Source, Post: x.Post, Author: x.Author, Time: x.Time}
	}
	return h
}

// match begins a match, in the place of the one before.
func (l *lookup) match(g sigstore.Group, overlap int) *feed.Match {
	n, k := len(l.x.Tokens), g.Size()
	m := &l.p.match
	*m = feed.Match{Scheme: Scheme, Jaccard: text.Jaccard.Value(overlap, n, k), Truncated: l.truncated}
	if s := l.p.cfg.Similarity; s != text.Jaccard {
		m.Measure, m.Similarity = s.String(), s.Value(overlap, n, k)
	}
	if g != l.own {
		m.Hamming = l.p.searcher.Distance(l.q, g)
	}
	return m
}

// hash is the name of a group.
func (l *lookup) hash(g sigstore.Group) feed.Hash {
	if g == l.own {
		return l.x.Group
	}
	return l.p.groups.Hash(g)
}

// hand completes a match of which both sentences are known, and hands it on.
func (l *lookup) hand(m *feed.Match, h sigstore.History) {
	m.First, m.Occurrences, m.Authors, m.AuthorsEstimated = h.First, h.Occurrences, h.Authors, h.AuthorsEstimated
	later, earlier := &m.Later, &m.Earlier
	m.SameAuthor = later.Author != "" && later.Author == earlier.Author && later.Source == earlier.Source
	l.p.counts.Matches++
	l.found(m)
}

// laterOf is x as the later sentence of a match.
func laterOf(x *feed.Sentence) feed.Occurrence {
	o := occurrenceOf(x)
	o.Group, o.Link, o.Meta = x.Group, x.Link, x.Meta
	return o
}

func occurrenceOf(x *feed.Sentence) feed.Occurrence {
	return feed.Occurrence{
		Source: x.Source, Post: x.Post, Author: x.Author, Lang: x.Lang, Time: x.Time,
		Sentence: x.Index, Start: x.Start, End: x.End, Text: x.Text, TextCut: x.TextCut,
		Converted: x.Converted,
	}
}

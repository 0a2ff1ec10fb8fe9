package detector

import (
	"math"

	"refrain/feed"
	"refrain/sigstore"
)

// Lookup appends a match for every pair that x makes with a row of the window: (x, group of the row) where the
// row is earlier, (row, group of x) where it is later. Whether x itself is in the window makes no difference.
// A pair may be reported again by the look-up of its other sentence: same id.
func (d *Detector) Lookup(dst []feed.Match, x *feed.Sentence) []feed.Match {
	return d.lookup(dst, x, false)
}

// LookupNew is Lookup without the matches that an earlier call has reported. That needs a feed in which every
// sentence is looked up and inserted in one order, before or after its look-up, and none is looked up without
// those before it. Two versions of a post that share a sentence share its events too: those may come twice, and
// so may the events of a redelivery so late that the window knows it no more.
func (d *Detector) LookupNew(dst []feed.Match, x *feed.Sentence) []feed.Match {
	return d.lookup(dst, x, true)
}

// Expect says which sentences will be looked up next; see sigstore.Searcher.Expect.
func (d *Detector) Expect(xs []*feed.Sentence) { d.searcher.Expect(xs) }

// Has reports whether x is in the window: then it is a redelivery.
func (d *Detector) Has(x *feed.Sentence) bool { return d.groups.Has(x) }

func (d *Detector) lookup(dst []feed.Match, x *feed.Sentence, once bool) []feed.Match {
	d.counts.Lookups++
	begin := len(dst)
	l := look{d: d, x: x, once: once, own: d.groups.Get(x)}
	dst = l.report(dst, l.search())
	if l.truncated {
		d.counts.Truncated++
		for i := begin; i < len(dst); i++ {
			dst[i].Truncated = true
		}
	}
	d.counts.Matches += int64(len(dst) - begin)
	return dst
}

// enough is how many candidates a look-up is given before the engine may stop, for each group that it may report: in a
// flood of variants of one text nearly all of them match. Where they do not, the look-up asks for all.
const enough = 2

// search finds the candidates, and whether there are too many matches to report them all.
func (l *look) search() []sigstore.Group {
	s, limit := l.d.searcher, l.d.cfg.MaxMatches
	var groups []sigstore.Group
	groups, l.q = s.Search(l.x)
	l.truncated = limit > 0 && len(groups) > limit && l.exceeds(groups, limit)
	if !l.truncated && l.q.Cut {
		groups, l.q = s.SearchAll(l.x)
		l.truncated = len(groups) > limit && l.exceeds(groups, limit)
	}
	return groups
}

// exceeds reports whether more than limit groups match.
func (l *look) exceeds(groups []sigstore.Group, limit int) bool {
	n := 0
	if !l.own.IsNone() && l.matches(l.own) {
		n++
	}
	for _, g := range groups {
		if n > limit {
			break
		}
		if g == l.own {
			continue
		}
		if _, near := l.overlap(g); near && l.matches(g) {
			n++
		}
	}
	return n > limit
}

// matches reports whether visit would report anything.
func (l *look) matches(g sigstore.Group) (any bool) {
	if _, _, ok := l.d.groups.Earlier(g, l.x); ok {
		return true
	}
	l.eachLater(g, func(*sigstore.Later) { any = true })
	return any
}

// report reports the groups that match: all, or the first few where there are too many.
func (l *look) report(dst []feed.Match, groups []sigstore.Group) []feed.Match {
	limit := math.MaxInt
	if l.truncated {
		limit = l.d.cfg.Flood
	}
	if !l.own.IsNone() {
		dst = l.visit(dst, l.own, len(l.x.Tokens))
	}
	for _, g := range groups {
		if l.groups >= limit {
			break
		}
		if g == l.own {
			continue
		}
		if overlap, near := l.overlap(g); near {
			dst = l.visit(dst, g, overlap)
		}
	}
	return dst
}

// look is one look-up under way.
type look struct {
	d         *Detector
	x         *feed.Sentence
	q         *sigstore.Query
	once      bool
	own       sigstore.Group // x's, if the window has it
	groups    int            // reported
	truncated bool           // there are more matches than may be reported
}

// overlap decides on the token sets.
func (l *look) overlap(g sigstore.Group) (tokens int, near bool) {
	l.d.counts.Candidates++
	tokens = l.q.Overlap(g)
	b := l.d.bounds.For(len(l.x.Tokens))
	m := g.Size() - b.Min
	near = m >= 0 && m < len(b.Overlap) && tokens >= int(b.Overlap[m])
	if near {
		l.d.counts.Similar++
	}
	return tokens, near
}

// visit reports what x and the rows of g make of each other.
func (l *look) visit(dst []feed.Match, g sigstore.Group, overlap int) []feed.Match {
	before := len(dst)
	dst = l.forward(dst, g, overlap)
	l.eachLater(g, func(y *sigstore.Later) { dst = l.backward(dst, g, y, overlap) })
	if len(dst) > before {
		l.groups++
	}
	return dst
}

// eachLater visits the rows of a group that x makes repeats.
func (l *look) eachLater(g sigstore.Group, visit func(*sigstore.Later)) {
	if l.once {
		l.d.groups.EachNew(g, l.x, visit)
		return
	}
	l.d.groups.EachLater(g, l.x, visit)
}

// forward appends (x, g) if x repeats g.
func (l *look) forward(dst []feed.Match, g sigstore.Group, overlap int) []feed.Match {
	gs, x := l.d.groups, l.x
	earlier, identical, ok := gs.Earlier(g, x)
	if !ok {
		return dst
	}
	dst, m := l.appendMatch(dst, g, overlap)
	group := l.hash(g)
	m.ID = feed.EventID(Scheme, x.Source, x.Post, x.Index, x.Group, group)
	m.Group, m.Identical, m.Earlier = group, identical, earlier
	m.Later = laterOf(x)
	m.Coverage, m.Repost, m.TimeAdjusted = float64(x.Coverage), x.Repost, x.TimeAdjusted
	counted := g == l.own && gs.Has(x)
	finish(m, gs.History(g, x.Source, x.Author, counted))
	return dst
}

// backward appends (y, group of x): y, an occurrence of g, is later than x and repeats it.
func (l *look) backward(dst []feed.Match, g sigstore.Group, y *sigstore.Later, overlap int) []feed.Match {
	x := l.x
	dst, m := l.appendMatch(dst, g, overlap)
	m.Group, m.Identical, m.Earlier, m.Later = x.Group, y.Identical, occurrenceOf(x), y.Occurrence
	m.Later.Group = l.hash(g)
	m.ID = feed.EventID(Scheme, y.Source, y.Post, y.Sentence, m.Later.Group, x.Group)
	m.Coverage, m.Repost, m.TimeAdjusted = float64(y.Coverage), y.Repost, y.TimeAdjusted
	finish(m, l.historyOfOwn(g, y))
	return dst
}

// historyOfOwn is what is known of x's group when y, of group g, is said to repeat it.
func (l *look) historyOfOwn(g sigstore.Group, y *sigstore.Later) sigstore.History {
	gs, x := l.d.groups, l.x
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

// appendMatch begins a match.
func (l *look) appendMatch(dst []feed.Match, g sigstore.Group, overlap int) ([]feed.Match, *feed.Match) {
	union := len(l.x.Tokens) + g.Size() - overlap
	dst = append(dst, feed.Match{Scheme: Scheme, Jaccard: float64(overlap) / float64(union)})
	m := &dst[len(dst)-1]
	if g != l.own {
		m.Hamming = l.d.searcher.Distance(l.q, g)
	}
	return dst, m
}

// hash is the name of a group.
func (l *look) hash(g sigstore.Group) feed.Hash {
	if g == l.own {
		return l.x.Group
	}
	return l.d.groups.Hash(g)
}

// finish completes a match of which both sentences are known.
func finish(m *feed.Match, h sigstore.History) {
	m.First, m.Occurrences, m.Authors, m.AuthorsEstimated = h.First, h.Occurrences, h.Authors, h.AuthorsEstimated
	l, e := &m.Later, &m.Earlier
	m.SameAuthor = l.Author != "" && l.Author == e.Author && l.Source == e.Source
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
	}
}

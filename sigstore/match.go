package sigstore

import "refrain/feed"

// Earlier reports whether x repeats g: some occurrence of g is earlier than x, of another post, and within the
// span. shown is the oldest of them; identical says that its tokens stand in the same order as those of x.
func (gs *Groups) Earlier(g Group, x *feed.Sentence) (shown feed.Occurrence, identical, ok bool) {
	v := gs.view(g)
	i := v.witness(keyOf(x), gs.cfg.span)
	if i < 0 {
		return feed.Occurrence{}, false, false
	}
	o := v.at(i)
	return o.show(), o.sequence == uint32(x.Sequence), true
}

// Later is an occurrence in the window that comes after the searched sentence. Its Group is left to whoever knows it.
type Later struct {
	feed.Occurrence
	Identical            bool // its tokens stand in the same order
	Coverage             float32
	Repost, TimeAdjusted bool
}

// EachLater calls visit for every occurrence of g that x makes a repeat: later than x, of another post, within
// the span. It ends where visit returns false.
func (gs *Groups) EachLater(g Group, x *feed.Sentence, visit func(*Later) bool) {
	v, k := gs.view(g), keyOf(x)
	v.eachLater(k, v.len(), gs.cfg.span, x, visit)
}

// EachNew is EachLater without the occurrences that another sentence of x's own group makes repeats anyway: those
// have been reported. See reach and known. What it has visited counts as reported.
func (gs *Groups) EachNew(g Group, x *feed.Sentence, visit func(*Later) bool) {
	if remote, visited := gs.eachNew(g, x, visit); remote && visited {
		gs.cleanRemote().remember(x)
	}
}

func (gs *Groups) eachNew(g Group, x *feed.Sentence, visit func(*Later) bool) (remote, visited bool) {
	v, k := gs.view(g), keyOf(x)
	if v.isLast(k) {
		return false, false // the usual case
	}
	own, remote := gs.viewOwn(x)
	if own.repeatsInPost(x) {
		return remote, false
	}
	v.eachLater(k, own.reach(v, k), gs.cfg.span, x, func(y *Later) bool {
		if own.known(keyOfOccurrence(&y.Occurrence), k, gs.cfg.span) {
			return true
		}
		visited = true
		return visit(y)
	})
	return remote, visited
}

// MaxLater is an upper bound of what CountLater counts, found without reading records: those of a chain are few.
func (gs *Groups) MaxLater(g Group, x *feed.Sentence) int {
	if !g.row().hasList() {
		return maxChain
	}
	v, k := gs.view(g), keyOf(x)
	if v.isLast(k) {
		return 0
	}
	return v.len() - v.indexOfKey(k)
}

// CountLater is how many occurrences EachLater would visit, or EachNew where once is set. It stops counting at limit + 1.
// None of them counts as reported.
func (gs *Groups) CountLater(g Group, x *feed.Sentence, once bool, limit int) (n int) {
	count := func(*Later) bool {
		n++
		return n <= limit
	}
	if once {
		gs.eachNew(g, x, count)
	} else {
		gs.EachLater(g, x, count)
	}
	return n
}

// isLast reports whether nothing comes after k.
func (v *view) isLast(k key) bool {
	return v.len() == 0 || v.at(v.len()-1).key().compare(k) <= 0
}

// viewOwn is x's group, or what is remembered of it where another partition owns it.
func (gs *Groups) viewOwn(x *feed.Sentence) (own *view, remote bool) {
	if g := gs.Get(x); !g.IsNone() {
		return gs.view(g), false
	}
	return gs.cleanRemote().view(x.Group), true
}

func keyOfOccurrence(o *feed.Occurrence) key {
	return key{o.Time, o.Source, parsePostID(o.Post), uint32(o.Sentence)}
}

// reach is the index in g after which every occurrence has a witness in own besides x, which is at k: behind the
// second next post in own, since two posts follow x there and one is not the occurrence's own.
func (own *view) reach(g *view, k key) int {
	next := own.other(own.indexOfKey(k), k)
	if next == own.len() {
		return g.len()
	}
	second := own.other(next, own.at(next).key())
	if second == own.len() {
		return g.len()
	}
	return min(g.len(), g.indexOfKey(own.at(second).key())+1)
}

// known reports whether own holds a witness for y besides x: then (y, own) was reported before x came.
func (own *view) known(y, x key, span feed.Time) bool {
	for i := own.from(y.time - span); ; i++ {
		i = own.other(i, y)
		if i == own.len() || own.at(i).key().compare(y) >= 0 {
			return false
		}
		if own.at(i).key() != x {
			return true
		}
	}
}

// eachLater visits the occurrences before an index that x, whose key is k, makes repeats, until visit returns false.
func (v *view) eachLater(k key, end int, span feed.Time, x *feed.Sentence, visit func(*Later) bool) {
	for i := v.indexOfKey(k); i < end; i++ {
		o := v.at(i)
		if o.time-k.time > span {
			return
		}
		if o.samePost(k) || o.key() == k {
			continue
		}
		shown := o.show()
		shown.Link, shown.Meta = o.link, o.meta
		later := Later{
			Occurrence: shown, Identical: o.sequence == uint32(x.Sequence), Coverage: o.coverage,
			Repost: o.repost, TimeAdjusted: o.adjusted,
		}
		if !visit(&later) {
			return
		}
	}
}

// History is what is known of a group since it was made.
type History struct {
	First            feed.First
	Occurrences      int
	Authors          int
	AuthorsEstimated bool
}

// History tells of g with one further occurrence, of the author given, counted in unless it is there already.
func (gs *Groups) History(g Group, source, author string, counted bool) History {
	v := gs.view(g)
	h := History{First: v.first(), Occurrences: v.count()}
	hash := gs.cfg.authorKey.hash(source, author)
	if counted {
		hash = 0
	} else {
		h.Occurrences++
	}
	h.Authors, h.AuthorsEstimated = v.authors(&gs.cfg.authorKey, hash)
	h.Authors = min(h.Authors, h.Occurrences) // an estimate may say more
	return h
}

// Alone is the history of a group of which only x and one later sentence, of the author given, are known.
func (gs *Groups) Alone(x *feed.Sentence, source, author string) History {
	var a authors
	a.add(gs.cfg.authorKey.hash(x.Source, x.Author))
	a.add(gs.cfg.authorKey.hash(source, author))
	return History{First: feed.First{Source: x.Source, Post: x.Post, Author: x.Author, Time: x.Time}, Occurrences: 2,
		Authors: len(a.smallest)}
}

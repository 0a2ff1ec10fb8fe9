package sigstore

import "refrain/feed"

// Earlier reports whether x repeats g: some occurrence of g is earlier than x, of another post, and within the
// span. shown is the oldest of them; sequence is the hash of its token sequence.
func (w *Window) Earlier(g *Group, x *feed.Sentence) (shown feed.Occurrence, sequence uint64, ok bool) {
	i := g.witness(keyOf(x), w.span)
	if i < 0 {
		return feed.Occurrence{}, 0, false
	}
	return g.occ[i].show(), g.occ[i].sequence, true
}

// Later is an occurrence in the window that comes after the searched sentence.
type Later struct {
	feed.Occurrence
	Sequence             uint64
	Coverage             float32
	Repost, TimeAdjusted bool
}

// EachLater calls visit for every occurrence of g that x makes a repeat: later than x, of another post, within
// the span.
func (w *Window) EachLater(g *Group, x *feed.Sentence, visit func(*Later)) {
	w.eachLater(g, x, len(g.occ), visit)
}

// EachNew is EachLater without the occurrences that another sentence of x's own group makes repeats anyway: those
// have been reported. See reach and known.
func (w *Window) EachNew(g *Group, x *feed.Sentence, visit func(*Later)) {
	own := w.groups[x.Group]
	if own == nil {
		own = w.foreign.group(x)
	}
	if own.saysAlike(x) {
		return
	}
	visited := false
	w.eachLater(g, x, w.reach(own, g, x), func(y *Later) {
		if !w.known(own, y.Key(), keyOf(x)) {
			visited = true
			visit(y)
		}
	})
	if visited && own.block == nil {
		own.remember(x)
	}
}

// saysAlike reports whether x's post says the same just before x: then that sentence has what x could find.
func (g *Group) saysAlike(x *feed.Sentence) bool {
	k := keyOf(x)
	i := g.occ.at(k) - 1
	return i >= 0 && g.occ[i].post.time == k.Time && g.occ[i].samePost(k)
}

// reach is the place in g after which every occurrence has a witness in own besides x: behind the second next post
// in own, since two posts follow x there and one is not the occurrence's own.
func (w *Window) reach(own, g *Group, x *feed.Sentence) int {
	k := keyOf(x)
	next := own.occ.other(own.occ.at(k), k)
	if next == len(own.occ) {
		return len(g.occ)
	}
	second := own.occ.other(next, own.occ[next].key())
	if second == len(own.occ) {
		return len(g.occ)
	}
	return min(len(g.occ), g.occ.at(own.occ[second].key())+1)
}

// known reports whether own holds a witness for y besides x: then (y, own) was reported before x came.
func (w *Window) known(own *Group, y, x feed.Key) bool {
	for i := own.occ.from(y.Time - w.span); ; i++ {
		i = own.occ.other(i, y)
		if i == len(own.occ) || own.occ[i].key().Compare(y) >= 0 {
			return false
		}
		if own.occ[i].key() != x {
			return true
		}
	}
}

func (w *Window) eachLater(g *Group, x *feed.Sentence, end int, visit func(*Later)) {
	k := keyOf(x)
	for i := g.occ.at(k); i < end; i++ {
		o := &g.occ[i]
		if o.post.time-k.Time > w.span {
			return
		}
		if o.samePost(k) || o.key() == k {
			continue
		}
		visit(&Later{
			Occurrence: o.show(), Sequence: o.sequence, Coverage: o.coverage,
			Repost: o.post.repost, TimeAdjusted: o.post.adjusted,
		})
	}
}

// History is what is known of a group since its birth.
type History struct {
	First            feed.First
	Occurrences      int
	Authors          int
	AuthorsEstimated bool
}

// History tells of g with one further occurrence, of the author given, counted in unless it is there already.
func (w *Window) History(g *Group, source, author string, counted bool) History {
	h := History{First: g.first, Occurrences: g.count}
	hash := authorHash(source, author)
	if counted {
		hash = 0
	} else {
		h.Occurrences++
	}
	h.Authors, h.AuthorsEstimated = g.authors.count(hash)
	return h
}

// Alone is the history of a group of which only x and one later sentence, of the author given, are known.
func Alone(x *feed.Sentence, source, author string) History {
	var a authors
	a.add(authorHash(x.Source, x.Author))
	a.add(authorHash(source, author))
	return History{First: feed.First{Source: x.Source, Post: x.Post, Time: x.Time}, Occurrences: 2, Authors: len(a.smallest)}
}

package sigstore

import "refrain/feed"

// foreign remembers sentences of groups that other partitions own: those that came late and made rows of this
// window repeats. The next late sentence of the same group need not report those rows again; a text that arrives in
// the wrong order would otherwise report every pair of its occurrences.
type foreign struct {
	groups map[feed.Hash]*Group
	kept   int // sentences
	next   int // number of them at which to look for what is too old
}

// group is what is remembered of x's group, with nothing in it at first.
func (f *foreign) group(x *feed.Sentence) *Group {
	if g := f.groups[x.Group]; g != nil {
		return g
	}
	return &Group{Hash: x.Group, keep: f}
}

// remember keeps x, which is of a group that the window does not own.
func (g *Group) remember(x *feed.Sentence) {
	if g.occ.has(x) {
		return
	}
	if g.keep.groups == nil {
		g.keep.groups = map[feed.Hash]*Group{}
	}
	g.keep.groups[g.Hash] = g
	g.keep.kept++
	g.insert(occurrence{post: newPost(x), index: uint32(x.Index)}, 0)
}

// forget drops what is older than t: a sentence that is not late cannot be earlier.
func (f *foreign) forget(t feed.Time) {
	if f.kept < f.next {
		return
	}
	for h, g := range f.groups {
		f.kept -= g.drop(func(o *occurrence) bool { return o.post.time < t })
		if len(g.occ) == 0 {
			delete(f.groups, h)
		}
	}
	f.next = 2*f.kept + 64
}

func (f *foreign) bytes() int64 {
	return int64(f.kept)*(occurrenceBytes+postBytes+16) + int64(len(f.groups))*groupBytes
}

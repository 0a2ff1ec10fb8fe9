package sigstore

import (
	"slices"

	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// posts finds the groups that a post has occurrences in, by a hash of (source, post id). A feed without deletions
// never has one; the first deletion makes it by a walk over the window. Expiry takes nothing out: the index is
// made anew when blocks have gone.
type posts map[uint64][]*Group

func postHash(source, id string) uint64 { return xxh3.HashStringSeed(id, xxh3.HashString(source)) }

func (p posts) add(g *Group, o *occurrence) {
	h := postHash(o.post.source.Value(), o.post.id)
	if !slices.Contains(p[h], g) {
		p[h] = append(p[h], g)
	}
}

func (w *Window) indexPosts() {
	w.posts = make(posts, w.occurrences)
	for _, g := range w.groups {
		for i := range g.occ {
			w.posts.add(g, &g.occ[i])
		}
	}
}

// Delete removes every occurrence of a post, of all its versions, and reports how many there were.
func (w *Window) Delete(source, id string) (occurrences int) {
	if w.posts == nil {
		w.indexPosts()
	}
	k, h := feed.Key{Source: source, Post: id}, postHash(source, id)
	for _, g := range w.posts[h] {
		if w.groups[g.Hash] == g {
			occurrences += w.deleteFrom(g, k)
		}
	}
	delete(w.posts, h)
	w.last = nil
	w.counts.Deleted += int64(occurrences)
	return occurrences
}

func (w *Window) deleteFrom(g *Group, k feed.Key) int {
	n := w.dropFrom(g, func(o *occurrence) bool { return o.samePost(k) })
	if n > 0 {
		g.forget(k)
		w.buryIfEmpty(g)
	}
	return n
}

package sigstore

import (
	"slices"

	"github.com/zeebo/xxh3"
)

// posts finds the keys of the groups that a post has occurrences in, by a hash of (source, post id). A feed without deletions
// never has one; the first deletion makes it by a walk over the window. Expiry takes nothing out: the index is
// made anew when blocks have gone.
type posts map[uint64][]uint64

func postHash(source string, id postID) uint64 {
	return xxh3.HashStringSeed(id.text, xxh3.HashString(source)) ^ id.number*0x9E3779B97F4A7C15
}

func (p posts) add(group uint64, source string, id postID) {
	h := postHash(source, id)
	if !slices.Contains(p[h], group) {
		p[h] = append(p[h], group)
	}
}

func (p posts) bytes() int64 { return 56 * int64(len(p)) }

func (w *Window) indexPosts() {
	w.posts = make(posts, w.occurrences)
	for _, b := range w.blocks {
		b.each(func(n uint32) {
			g := Group{b, n}
			v := w.view(g)
			for i := range v.len() {
				o := v.at(i)
				w.posts.add(g.row().key(), o.source, o.post)
			}
		})
	}
}

// Delete removes every occurrence of a post, of all its versions, and reports how many there were.
func (w *Window) Delete(source, id string) (occurrences int) {
	if w.posts == nil {
		w.indexPosts()
	}
	k := key{source: source, post: parsePostID(id)}
	h := postHash(source, k.post)
	for _, group := range w.posts[h] {
		if g := w.groupOf(group); !g.IsNone() {
			occurrences += w.deleteFrom(g, k)
		}
	}
	delete(w.posts, h)
	w.counts.Deleted += int64(occurrences)
	return occurrences
}

func (w *Window) deleteFrom(g Group, k key) (dropped int) {
	dropped, left := w.drop(g, func(o *occurrence) bool { return o.samePost(k) })
	switch {
	case dropped == 0:
	case left == 0:
		w.bury(g)
		g.block.kill(g.n)
	default:
		w.view(g).many.forget(k)
	}
	return dropped
}

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

// indexPosts makes the index of posts.
func (gs *Groups) indexPosts() {
	gs.posts = make(posts, gs.occurrences)
	gs.blocks.each(gs.addPosts)
}

// reindexPosts makes the index of posts anew, if there is one.
func (gs *Groups) reindexPosts() {
	if gs.posts != nil {
		gs.indexPosts()
	}
}

func (gs *Groups) addPosts(g Group) {
	v := gs.view(g)
	for i := range v.len() {
		o := v.at(i)
		gs.posts.add(g.row().key(), o.source, o.post)
	}
}

// delete removes every occurrence of a post, of all its versions, and reports how many there were.
func (gs *Groups) delete(source, id string) (occurrences int) {
	if gs.posts == nil {
		gs.indexPosts()
	}
	k := key{source: source, post: parsePostID(id)}
	h := postHash(source, k.post)
	for _, group := range gs.posts[h] {
		has := func(g Group) bool { return gs.view(g).hasPost(k) }
		for g := gs.keyed(group, has); !g.IsNone(); g = gs.keyed(group, has) {
			occurrences += gs.deleteFrom(g, k)
		}
	}
	delete(gs.posts, h)
	// A deleted post is nobody's witness: what came after it was deleted, another has to report.
	gs.foreign.drop(func(o *occurrence) bool { return o.samePost(k) })
	return occurrences
}

func (gs *Groups) deleteFrom(g Group, k key) (dropped int) {
	dropped, left := gs.drop(g, func(o *occurrence) bool { return o.samePost(k) })
	switch {
	case dropped == 0:
	case left == 0:
		gs.evict(g)
	default:
		gs.view(g).many.forget(k)
	}
	return dropped
}

package sigstore

import (
	"strings"
	"unsafe"

	"refrain/feed"
)

// Group is one text: the sentences with one token set, as long as any of them is in the window.
//
// occ holds every occurrence newer than W - lateness. Of older ones it keeps, for each slice of span/16 of
// event time, the first two and the last two of distinct posts. That answers exactly whether a sentence b has
// an earlier occurrence of another post within the span: a slice wholly inside (t_b - span, b) needs any two
// posts, the slice that b falls into its first two, the slice that t_b - span falls into its last two, and no
// slice is long enough to hold both ends.
type Group struct {
	Hash feed.Hash

	tokens  []uint32 // numbers in the window's dictionary, ascending
	occ     occurrences
	first   feed.First
	count   int // occurrences since the group's birth
	authors authors

	thinAt int                 // len(occ) at which thin is tried again
	extra  int64               // bytes of texts and posts that occ refers to
	seen   map[uint64]struct{} // (post, version, index) of occ, made when posts without a time need it
	keep   *foreign            // of a group that another partition owns; nil otherwise
	block  *block              // nil for such a group
	row    uint32
}

// insert adds an occurrence in order. Posts come nearly in order, so this is nearly always an append.
func (g *Group) insert(o occurrence, author uint64) {
	i := g.occ.at(o.key())
	if len(g.occ) == 0 && g.count == 0 || o.key().Compare(g.firstKey()) < 0 {
		g.first = feed.First{Source: o.post.source.Value(), Post: o.post.id, Time: o.post.time}
	}
	g.extra += int64(len(o.text)) + postBytes + int64(len(o.post.id))
	g.occ = append(g.occ, occurrence{})
	copy(g.occ[i+1:], g.occ[i:])
	g.occ[i] = o
	g.count++
	g.authors.add(author)
	if g.seen != nil {
		g.seen[o.identity()] = struct{}{}
	}
}

// sharedText returns a copy of s, or the one that a recent occurrence holds already.
func (g *Group) sharedText(s string) string {
	const recent = 4
	for i := len(g.occ) - 1; i >= max(0, len(g.occ)-recent); i-- {
		if g.occ[i].text == s {
			return g.occ[i].text
		}
	}
	return strings.Clone(s)
}

// has reports whether x was inserted before, as far as its occurrence is still kept: the same post, text and
// index, and the same time or no time of its own now.
func (g *Group) has(x *feed.Sentence) bool {
	if g.occ.has(x) {
		return true
	}
	return x.Untimed && g.hasAtAnyTime(x)
}

func (g *Group) hasAtAnyTime(x *feed.Sentence) bool {
	if g.seen == nil {
		g.seen = make(map[uint64]struct{}, len(g.occ))
		for i := range g.occ {
			g.seen[g.occ[i].identity()] = struct{}{}
		}
	}
	_, ok := g.seen[identity(x.Source, x.Post, x.Version, uint32(x.Index))]
	return ok
}

// witness returns the place of the oldest occurrence that makes k a repeat of g: earlier than k, within the
// span, of another post. -1 if there is none.
func (g *Group) witness(k feed.Key, span feed.Time) int {
	i := g.occ.other(g.occ.from(k.Time-span), k)
	if i == len(g.occ) || g.occ[i].key().Compare(k) >= 0 {
		return -1
	}
	return i
}

// drop removes the occurrences that gone says, and reports how many.
func (g *Group) drop(gone func(*occurrence) bool) int {
	kept := g.occ[:0]
	for i := range g.occ {
		if !gone(&g.occ[i]) {
			kept = append(kept, g.occ[i])
		}
	}
	n := len(g.occ) - len(kept)
	clear(g.occ[len(kept):])
	g.occ, g.seen = kept, nil
	g.weigh()
	return n
}

// weigh counts anew what occ refers to. Texts and posts that are shared are counted each time: too much
// rather than too little.
func (g *Group) weigh() {
	g.extra = 0
	for i := range g.occ {
		g.extra += int64(len(g.occ[i].text)) + postBytes + int64(len(g.occ[i].post.id))
	}
}

// forget: the group's first occurrence is not named any more when its post was deleted.
func (g *Group) forget(k feed.Key) {
	if g.first.Post != k.Post || g.first.Source != k.Source || len(g.occ) == 0 {
		return
	}
	p := g.occ[0].post
	g.first = feed.First{Source: p.source.Value(), Post: p.id, Time: p.time}
}

func (g *Group) firstKey() feed.Key {
	return feed.Key{Time: g.first.Time, Source: g.first.Source, Post: g.first.Post}
}

// thin drops the occurrences before horizon, keeps of those before the time `old` the first and last two of
// distinct posts of each slice, and reports how many went.
func (g *Group) thin(horizon, old, slice feed.Time) int {
	before := len(g.occ)
	limit := g.occ.from(old)
	kept := make(occurrences, 0, len(g.occ)-limit+8)
	for i := g.occ.from(horizon); i < limit; {
		n := floorDiv(g.occ[i].post.time, slice)
		j := min(limit, i+g.occ[i:].from((n+1)*slice))
		kept = appendEnds(kept, g.occ[i:j])
		i = j
	}
	g.occ, g.seen = append(kept, g.occ[max(limit, g.occ.from(horizon)):]...), nil
	g.weigh()
	return before - len(g.occ)
}

// appendEnds appends the first two and the last two occurrences of distinct posts.
func appendEnds(dst, os occurrences) occurrences {
	second := os.other(0, os[0].key())
	last := len(os) - 1
	before := last
	for before >= 0 && os[before].samePost(os[last].key()) {
		before--
	}
	end := -1
	for _, i := range []int{0, second, before, last} {
		if i > end && i < len(os) {
			dst = append(dst, os[i])
			end = i
		}
	}
	return dst
}

func floorDiv(a, b feed.Time) feed.Time {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// overlap is the number of tokens that g has in common with an ascending list of numbers.
func (g *Group) overlap(numbers []uint32) int {
	n, i := 0, 0
	for _, t := range g.tokens {
		for i < len(numbers) && numbers[i] < t {
			i++
		}
		if i == len(numbers) {
			return n
		}
		if numbers[i] == t {
			n++
			i++
		}
	}
	return n
}

// Size is the number of tokens.
func (g *Group) Size() int { return len(g.tokens) }

// groupBytes is the struct, its slot in the map of groups and its row in a block.
const groupBytes = int64(unsafe.Sizeof(Group{})) + 40 + 12

// held is what g holds on the heap, without its postings.
func (g *Group) held() int64 {
	return groupBytes + 4*int64(cap(g.tokens)) + g.authors.bytes() +
		occurrenceBytes*int64(cap(g.occ)) + 24*int64(len(g.seen)) + g.extra
}

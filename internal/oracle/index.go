package oracle

import (
	"iter"
	"slices"
	"sort"
	"time"

	"refrain/feed"
	"refrain/text"
)

// Index finds the events of a feed group by group: first the pairs of groups that are similar, then, for
// every sentence b of one, whether the other has an occurrence in [t_b − span, b) of another post. The work
// is a binary search for each (sentence, similar group), never one for each pair of occurrences.
type Index struct {
	sentences []feed.Sentence // in the order of the feed; a row is a place in here
	posts     []int32         // by row: the number of its post
	groups    []group
}

// group is one token set and where it occurs.
type group struct {
	tokens []int32 // numbers of the tokens, the rarest first: see rank
	rows   []int32 // ascending
	next   []int32 // next[i] is the first place after i in rows that is of another post than rows[i]
}

// Index returns an index of what f has now.
func (f *Feed) Index() *Index {
	x := &Index{sentences: f.Sentences()}
	x.numberPosts()
	x.collectGroups()
	return x
}

func (x *Index) numberPosts() {
	type name struct{ source, post string }
	numbers := map[name]int32{}
	x.posts = make([]int32, len(x.sentences))
	for row := range x.sentences {
		n := name{x.sentences[row].Source, x.sentences[row].Post}
		number, ok := numbers[n]
		if !ok {
			number = int32(len(numbers))
			numbers[n] = number
		}
		x.posts[row] = number
	}
}

func (x *Index) collectGroups() {
	numbers := map[feed.Hash]int32{}
	rank := rank(x.sentences)
	for row := range x.sentences {
		s := &x.sentences[row]
		g, ok := numbers[s.Group]
		if !ok {
			g = int32(len(x.groups))
			numbers[s.Group] = g
			x.groups = append(x.groups, group{tokens: numbered(s.Tokens, rank)})
		}
		x.groups[g].rows = append(x.groups[g].rows, int32(row))
	}
	for g := range x.groups {
		x.groups[g].next = x.changes(x.groups[g].rows)
	}
	slices.SortStableFunc(x.groups, func(a, b group) int { return len(a.tokens) - len(b.tokens) })
}

// changes returns for each place in rows the first place after it that is of another post.
func (x *Index) changes(rows []int32) []int32 {
	next := make([]int32, len(rows))
	for i := len(rows) - 1; i >= 0; i-- {
		switch {
		case i == len(rows)-1:
			next[i] = int32(len(rows))
		case x.posts[rows[i]] == x.posts[rows[i+1]]:
			next[i] = next[i+1]
		default:
			next[i] = int32(i + 1)
		}
	}
	return next
}

// rank numbers the tokens so that the rare ones come first.
func rank(sentences []feed.Sentence) map[uint64]int32 {
	frequency := map[uint64]int{}
	for i := range sentences {
		for _, id := range sentences[i].Tokens {
			frequency[id]++
		}
	}
	ids := make([]uint64, 0, len(frequency))
	for id := range frequency {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool {
		if fi, fj := frequency[ids[i]], frequency[ids[j]]; fi != fj {
			return fi < fj
		}
		return ids[i] < ids[j]
	})
	rank := make(map[uint64]int32, len(ids))
	for i, id := range ids {
		rank[id] = int32(i)
	}
	return rank
}

func numbered(set []uint64, rank map[uint64]int32) []int32 {
	numbers := make([]int32, len(set))
	for i, id := range set {
		numbers[i] = rank[id]
	}
	slices.Sort(numbers)
	return numbers
}

// Matches yields every event, in no particular order. As with Brute, versions of one post may give one id
// more than once.
func (x *Index) Matches(m text.Measure, span time.Duration) iter.Seq[Match] {
	return func(yield func(Match) bool) {
		for p := range x.similar(m) {
			if !x.oneWay(m.Similarity, p, span, yield) {
				return
			}
			if p.a != p.b && !x.oneWay(m.Similarity, pair{p.b, p.a, p.common}, span, yield) {
				return
			}
		}
	}
}

// oneWay yields the matches of the occurrences of group p.b with group p.a; false: the caller has enough.
func (x *Index) oneWay(by text.Similarity, p pair, span time.Duration, yield func(Match) bool) bool {
	earlier, later := &x.groups[p.a], &x.groups[p.b]
	for _, row := range x.within(earlier, later, span) {
		witness, ok := x.witness(earlier, row, span)
		if ok && !yield(newMatch(by, &x.sentences[row], &x.sentences[witness], p.common)) {
			return false
		}
	}
	return true
}

// within cuts the rows of b to those after the first of a and not later than the last of a plus the span.
func (x *Index) within(a, b *group, span time.Duration) []int32 {
	first, last := a.rows[0], a.rows[len(a.rows)-1]
	end := x.sentences[last].Time.Add(span)
	from := sort.Search(len(b.rows), func(i int) bool { return b.rows[i] > first })
	to := sort.Search(len(b.rows), func(i int) bool { return x.sentences[b.rows[i]].Time > end })
	return b.rows[from:max(from, to)]
}

// witness returns the oldest row of g that lies in the span before the given row and is of another post.
func (x *Index) witness(g *group, row int32, span time.Duration) (int32, bool) {
	start := x.sentences[row].Time.Add(-span)
	from := sort.Search(len(g.rows), func(i int) bool { return x.sentences[g.rows[i]].Time >= start })
	to := sort.Search(len(g.rows), func(i int) bool { return g.rows[i] >= row })
	if from < to && x.posts[g.rows[from]] == x.posts[row] {
		from = int(g.next[from])
	}
	if from >= to {
		return 0, false
	}
	return g.rows[from], true
}

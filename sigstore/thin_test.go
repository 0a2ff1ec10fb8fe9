package sigstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"refrain/feed"
)

// randomGroup has occurrences of few posts at few times, in order.
func randomGroup(r *rand.Rand, n int, length feed.Time) *occurrenceList {
	g := &occurrenceList{cfg: &groupsConfig{}, frame: frame{texts: true}}
	for range n {
		x := &feed.Sentence{
			Post: fmt.Sprint("p", r.IntN(1+n/2)), Time: feed.Time(r.Int64N(int64(length))),
			Index: r.IntN(2), Version: r.Uint64N(2),
		}
		if !g.view().has(x) {
			o := occurrenceOf(x)
			g.insert(&o)
		}
	}
	return g
}

// TestThinnedGroupsAnswerAlike: whether a sentence that is not late has a witness does not change by thinning.
func TestThinnedGroupsAnswerAlike(t *testing.T) {
	groups := 50_000
	if testing.Short() {
		groups = 5_000
	}
	r := rand.New(rand.NewPCG(1, 2))
	const span, slice = feed.Time(64), feed.Time(4)
	thinned := 0
	for i := range groups {
		whole := randomGroup(r, 2+r.IntN(40), 100)
		part := &occurrenceList{cfg: whole.cfg, frame: whole.frame, buf: whole.buf, records: slices.Clone(whole.records)}
		clock, lateness := feed.Time(r.Int64N(120)), feed.Time(r.Int64N(20))
		horizon, old := clock-span-lateness, clock-lateness
		thinned += part.thin(horizon, old, slice)
		for range 10 {
			k := key{time: old + feed.Time(r.Int64N(40)), post: postID{text: fmt.Sprint("p", r.IntN(30))}, index: r.Uint32N(3)}
			got, want := part.view().witness(k, span) >= 0, whole.view().witness(k, span) >= 0
			if got != want {
				t.Fatalf("group %d, %v: witness %t after thinning, %t before\n%v\n%v", i, k, got, want, keys(part), keys(whole))
			}
		}
	}
	if thinned < groups {
		t.Errorf("%d occurrences thinned in %d groups: this test tests nothing", thinned, groups)
	}
}

func keys(g *occurrenceList) (keys []key) {
	v := g.view()
	for i := range v.len() {
		keys = append(keys, v.at(i).key())
	}
	return keys
}

// The witness is what the definition says: the oldest occurrence in the span, earlier, of another post.
func TestWitnessIsTheOldestInTheSpan(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		g := randomGroup(r, 1+r.IntN(12), 30)
		k := key{time: feed.Time(r.Int64N(40)), post: postID{text: fmt.Sprint("p", r.IntN(6))}, index: r.Uint32N(3)}
		want := slices.IndexFunc(keys(g), func(a key) bool {
			return a.compare(k) < 0 && !a.samePost(k) && k.time-a.time <= 10
		})
		if got := g.view().witness(k, 10); got != want {
			t.Fatalf("witness of %v in %v: %d, want %d", k, keys(g), got, want)
		}
	}
}

func TestAuthorsAreExactTo32(t *testing.T) {
	for _, n := range []int{0, 1, 2, 31, 32, 33, 100, 10_000} {
		var a authors
		for range 2 { // twice: repeats change nothing
			for i := range n {
				a.add(new(AuthorKey).hash("s", fmt.Sprint("author ", i)))
			}
		}
		a.add(new(AuthorKey).hash("s", "")) // nobody
		got, estimated := a.count(0)
		if estimated != (n > maxAuthors) {
			t.Errorf("%d authors: estimated %t", n, estimated)
		}
		if !estimated && got != n || got < n/2 || got > n*3/2 {
			t.Errorf("%d authors counted as %d", n, got)
		}
		next, _ := a.count(new(AuthorKey).hash("s", "somebody new"))
		if n < maxAuthors && next != n+1 {
			t.Errorf("%d authors and one more counted as %d", n, next)
		}
	}
}

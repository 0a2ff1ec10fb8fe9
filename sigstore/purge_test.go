package sigstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"refrain/feed"
)

// sentenceBy is a sentence by an author, of one of few texts: some groups have many occurrences, some a chain.
func sentenceBy(author string, i int, at feed.Time, text int) feed.Sentence {
	n := uint64(text) * 10
	x := sentenceOf(i, at, 0, n+1, n+2, n+3, n+4)
	x.Author = author
	return x
}

// shown are the posts of x's group that an answer could show.
func shown(w *Window, x *feed.Sentence) (posts []string) {
	groups, _ := w.searcher.Search(x)
	for _, g := range groups {
		if o, _, ok := w.groups.Earlier(g, x); ok {
			posts = append(posts, o.Post)
			h := w.groups.History(g, "", "somebody", false)
			posts = append(posts, h.First.Post)
		}
		w.groups.EachLater(g, x, func(y *Later) bool { posts = append(posts, y.Post); return true })
	}
	return posts
}

// TestDeletedAuthors compares the window with a list, through every state that a walk may be in: expiry, rebuilding,
// groups with chains and with occurrence lists, and authors that come back.
func TestDeletedAuthors(t *testing.T) {
	for _, c := range []granularity{defaultGranularity, {4, 3, 2}, {4, 64, 5}} {
		for seed := range uint64(10) {
			testDeletedAuthors(t, c, seed)
		}
	}
}

func testDeletedAuthors(t *testing.T, c granularity, seed uint64) {
	t.Helper()
	const span = 2000
	r := rand.New(rand.NewPCG(seed, 17))
	w := newScanGranular(t, Config{Span: span * time.Millisecond}, c)
	texts := 3 + r.IntN(200)
	var there []feed.Sentence
	gone := map[string]bool{}
	for i := range 1500 {
		x := sentenceBy(fmt.Sprint("a", r.IntN(12)), i, feed.Time(i*4), r.IntN(texts))
		for _, post := range shown(w, &x) {
			if gone[post] {
				t.Fatalf("cut %v, seed %d, sentence %d: shows post %s of a deleted author", c, seed, i, post)
			}
		}
		checkMatch(t, w, &x, there, span)
		w.Insert(&x)
		there = append(there, x)
		if r.IntN(4) > 0 {
			w.Advance(x.Time)
		}
		for range r.IntN(2) * r.IntN(3) {
			there = deleteAuthor(w, r, there, gone)
		}
		if r.IntN(3) == 0 {
			w.PurgeSome(1 + r.IntN(100))
		}
	}
	for w.PurgeSome(10) {
	}
	if n := w.Stats().Counts.Deleted; n == 0 || w.groups.purge.authors != nil || w.groups.occurrences > len(there) {
		t.Errorf("cut %v, seed %d: %d deleted, %d occurrences of %d", c, seed, n, w.groups.occurrences, len(there))
	}
}

// deleteAuthor deletes one, but for some of his last sentences.
func deleteAuthor(w *Window, r *rand.Rand, there []feed.Sentence, gone map[string]bool) []feed.Sentence {
	author, young := fmt.Sprint("a", r.IntN(12)), there[max(0, len(there)-r.IntN(6)):]
	stays := func(post string, _ int, _ uint32) bool {
		return slices.ContainsFunc(young, func(x feed.Sentence) bool { return x.Post == post })
	}
	w.DeleteAuthor("", author, stays)
	young = slices.Clone(young)
	return slices.DeleteFunc(slices.Clone(there), func(x feed.Sentence) bool {
		if x.Author != author || stays(x.Post, 0, 0) {
			return false
		}
		gone[x.Post] = true
		return true
	})
}

// checkMatch wants x to repeat its text if somebody said it who is there.
func checkMatch(t *testing.T, w *Window, x *feed.Sentence, there []feed.Sentence, span feed.Time) {
	t.Helper()
	want := slices.ContainsFunc(there, func(y feed.Sentence) bool {
		return y.Group == x.Group && x.Time-y.Time <= span && y.Post != x.Post
	})
	got := false
	if g := w.groups.Get(x); !g.IsNone() {
		_, _, got = w.groups.Earlier(g, x)
	}
	if got != want {
		t.Fatalf("post %s repeats something: %v, want %v", x.Post, got, want)
	}
}

// TestPurgeIsPiecemeal: one walk for all, and none of its steps looks through more than it was asked to.
func TestPurgeIsPiecemeal(t *testing.T) {
	const rows = 50_000
	w := newScan(t, Config{Span: time.Hour})
	for i := range rows {
		x := sentenceBy(fmt.Sprint("a", i%2000), i, feed.Time(i), i)
		w.Insert(&x)
	}
	for i := range 1000 {
		w.DeleteAuthor("", fmt.Sprint("a", i), nil)
	}
	if n := w.Len(); n != rows {
		t.Errorf("%d groups before the walk, want all %d", n, rows)
	}
	steps := 1
	for w.PurgeSome(1000) {
		if n := w.Len(); n < rows-1000*steps {
			t.Fatalf("step %d has removed %d groups", steps, rows-n)
		}
		steps++
	}
	if n, occurrences := w.Len(), w.Stats().Occurrences; n != rows/2 || occurrences != rows/2 ||
		steps > rows/1000+w.blocks.len()+1 {
		t.Errorf("%d groups and %d occurrences after %d steps, want %d", n, occurrences, steps, rows/2)
	}
}

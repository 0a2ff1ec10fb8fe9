package sigstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"refrain/feed"
)

// TestDeletionsBesideACrowd: what is deleted elsewhere does not have a text of many occurrences read again each time. What
// is counted is how often the window asks whether a post is gone.
func TestDeletionsBesideACrowd(t *testing.T) {
	const crowd, deletions = 20_000, 500
	w := newScan(t, Config{Span: time.Hour})
	x := sentenceBy("a", 0, 0, 1)
	for i := range crowd {
		x = sentenceBy(fmt.Sprint("a", i%1000), i, feed.Time(i), 1)
		w.Insert(&x)
	}
	calls, deleted := 0, map[string]bool{}
	gone := func(_, post string) bool {
		calls++
		return deleted[post]
	}
	remove := func(post string) {
		deleted[post] = true
		w.Delete(gone, []feed.Name{{Post: post}})
		if g := w.groups.Get(&x); g.IsNone() || w.groups.holds(g, &x) != (post != x.Post) {
			t.Fatalf("after the deletion of %s: the text is there: %v", post, !g.IsNone())
		}
	}
	for i := range deletions {
		remove(fmt.Sprint("nobody's ", i))
		w.DeleteAuthor("", fmt.Sprint("nobody ", i), nil)
		w.groups.Get(&x)
		if i%50 == 0 {
			w.PurgeSome(100)
		}
	}
	if reads := float64(calls) / crowd; reads > 20 { // the first, and those that a filter takes for its own
		t.Errorf("the text was read %.0f times for %d deletions of nobody's posts", reads, 2*deletions)
	}
	before := w.groups.purged
	if remove("7"); w.groups.purged != before+1 {
		t.Errorf("%d occurrences of one deleted post are gone", w.groups.purged-before)
	}
}

// TestCrowdsForgetWhatIsDeleted compares texts of many occurrences with a list, while posts and authors are deleted, more
// at a time than are remembered too, and more are said.
func TestCrowdsForgetWhatIsDeleted(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := newScan(t, Config{Span: time.Hour})
		var there []feed.Sentence
		gone := map[string]bool{}
		for i := range 3000 {
			x := sentenceBy(fmt.Sprint("a", r.IntN(200)), i, feed.Time(i), r.IntN(2))
			w.Insert(&x)
			there = append(there, x)
			if r.IntN(10) > 0 {
				continue
			}
			victim := there[r.IntN(len(there))]
			byAuthor := r.IntN(2) == 0
			is := func(y feed.Sentence) bool {
				return !byAuthor && y.Post == victim.Post || byAuthor && y.Author == victim.Author
			}
			if byAuthor {
				w.DeleteAuthor("", victim.Author, nil)
			} else {
				gone[victim.Post] = true
				names := []feed.Name{{Post: victim.Post}}
				for n := range r.IntN(2) * r.IntN(2) * 2 * maxRecent {
					names = append(names, feed.Name{Post: fmt.Sprint("nobody's ", n)})
				}
				w.Delete(func(_, post string) bool { return gone[post] }, names)
			}
			there = slices.DeleteFunc(there, is)
			if r.IntN(3) == 0 {
				w.PurgeSome(r.IntN(3))
			}
			checkCrowds(t, w, there)
		}
	}
}

// checkCrowds wants the two texts to have been said as often as the list says.
func checkCrowds(t *testing.T, w *Window, there []feed.Sentence) {
	t.Helper()
	for text := range 2 {
		x, want, got := sentenceBy("", 0, 0, text), 0, 0
		for i := range there {
			want += oneIf(there[i].Group == x.Group)
		}
		if g := w.groups.Get(&x); !g.IsNone() {
			got = w.groups.view(g).len()
		}
		if got != want {
			t.Fatalf("%d occurrences, want %d", got, want)
		}
	}
}

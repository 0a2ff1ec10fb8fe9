package sigstore

import (
	"fmt"
	"testing"
	"time"

	"refrain/feed"
)

// TestTokenSetsOfOneKey: two texts whose names agree in the half by which the window finds them, as a birthday pair
// would, stay two groups: when they are inserted, found, moved and deleted.
func TestTokenSetsOfOneKey(t *testing.T) {
	w := newScan(t, Config{Span: time.Hour})
	sentence := func(post string, at feed.Time, tokens ...uint64) *feed.Sentence {
		h := feed.GroupHash([]uint64{1, 2, 3, 4})
		h[0] = byte(tokens[0]) // of another partition, or not
		return &feed.Sentence{Post: post, Time: at, Tokens: tokens, Group: h, Text: post}
	}
	a, b := sentence("p", 1, 1, 2, 3, 4), sentence("p", 1, 5, 6, 7, 8)
	if !w.Insert(a) || !w.Insert(b) {
		t.Fatal("the second text is taken for the first")
	}
	for range 2 {
		if n := w.Len(); n != 2 {
			t.Fatalf("%d groups, want 2", n)
		}
		for _, x := range []*feed.Sentence{a, b} {
			if got := w.groups.idsOf(w.groups.Get(x)); got[0] != x.Tokens[0] || !w.groups.Has(x) {
				t.Errorf("tokens %v found for %v", got, x.Tokens)
			}
		}
		w.rebuild()
	}
	if !w.groups.Get(sentence("q", 2, 1, 2, 3, 9)).IsNone() {
		t.Error("a third text is taken for one of the two")
	}
	deletePost(w, "", "p")
	w.groups.purgeAll()
	if n := w.Stats().Counts.Deleted; n != 2 || w.Len() != 0 {
		t.Errorf("%d occurrences deleted, %d groups left; want 2 and 0", n, w.Len())
	}
}

// TestAuthorsAreNotForged: names that are chosen for their hashes under one key are any names under another, and no
// estimate is above the occurrences.
func TestAuthorsAreNotForged(t *testing.T) {
	forged := smallest(new(AuthorKey), 33)
	for _, key := range []AuthorKey{{}, {1}} {
		w := newScan(t, Config{Span: time.Hour, AuthorKey: key})
		var last *feed.Sentence
		for i, author := range forged {
			last = &feed.Sentence{Post: fmt.Sprint(i), Author: author, Time: feed.Time(i), Tokens: []uint64{1, 2, 3, 4}}
			last.Group = feed.GroupHash(last.Tokens)
			w.Insert(last)
		}
		h := w.groups.History(w.groups.Get(last), "", last.Author, true)
		if h.Occurrences != 33 || h.Authors > 33 || !h.AuthorsEstimated {
			t.Errorf("key %v: %+v, want at most 33 authors of 33 occurrences", key[0], h)
		}
		if v := w.groups.view(w.groups.Get(last)); key[0] == 1 {
			if n, _ := v.authors(&w.groups.cfg.authorKey, 0); n > 100 {
				t.Errorf("33 forged names count as %d under another key", n)
			}
		}
	}
}

// smallest are n names of small hashes.
func smallest(k *AuthorKey, n int) (names []string) {
	for i := 0; len(names) < n; i++ {
		if name := fmt.Sprint("author", i); k.hash("", name) < 1<<53 {
			names = append(names, name)
		}
	}
	return names
}

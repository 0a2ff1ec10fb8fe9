package sigstore

import (
	"testing"
	"time"

	"refrain/feed"
)

// TestDeletedIsNoWitness: what is remembered of other partitions' groups goes with its post, and with its author. Else a
// match that it alone has reported is taken as known, and is left out when the next sentence makes it again.
func TestDeletedIsNoWitness(t *testing.T) {
	for name, remove := range map[string]func(*Window){
		"post":   func(w *Window) { deletePost(w, "s", "x") },
		"author": func(w *Window) { w.DeleteAuthor("s", "ann", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newScan(t, Config{Span: time.Hour})
			at := func(post, author string, tokens []uint64, time feed.Time) *feed.Sentence {
				return &feed.Sentence{Source: "s", Post: post, Author: author, Time: time, Tokens: tokens, Group: feed.GroupHash(tokens)}
			}
			later := at("later", "eve", []uint64{1, 2, 3, 4}, 10)
			w.Insert(later)
			g := w.groups.Get(later)
			seen := func(x *feed.Sentence) (n int) {
				w.groups.EachNew(g, x, func(*Later) bool { n++; return true })
				return n
			}
			x, y := at("x", "ann", []uint64{1, 2, 3, 5}, 1), at("y", "bob", []uint64{1, 2, 3, 5}, 2) // of a remote group
			if n := seen(x); n != 1 {
				t.Fatalf("%d events of x, want 1", n)
			}
			if n := seen(y); n != 0 {
				t.Fatalf("%d events of y beside x, want none: x has made them", n)
			}
			remove(w)
			if n := seen(y); n != 1 {
				t.Errorf("%d events of y without x, want 1", n)
			}
		})
	}
}

package sigstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"refrain/feed"
)

// TestOneTextDoesNotTakeTheBudget: one text said ten thousand times under names of a kilobyte is cut to its share, the
// newest of it stays, and the other texts stay whole. Before, it took five times the budget, and everything else went.
func TestOneTextDoesNotTakeTheBudget(t *testing.T) {
	const budget, others, copies = 4 << 20, 500, 10_000
	var forced Forced
	w := newScan(t, Config{Span: time.Hour, Budget: budget, OnForced: func(f Forced) {
		forced.Occurrences, forced.Groups = forced.Occurrences+f.Occurrences, forced.Groups+f.Groups
	}})
	sentence := func(post, author string, token uint64, at feed.Time) *feed.Sentence {
		tokens := []uint64{1, 2, 3, token}
		return &feed.Sentence{Source: "s", Post: post, Author: author, Time: at, Tokens: tokens, Group: feed.GroupHash(tokens)}
	}
	for i := range others {
		w.Insert(sentence(fmt.Sprint(i), "", uint64(1000+i), 1000))
	}
	name := strings.Repeat("n", 1000)
	for i := range copies {
		w.Insert(sentence(fmt.Sprint("copy", i), fmt.Sprint(name, i), 4, feed.Time(2000+i)))
		if n := w.Bytes(); n > budget {
			t.Fatalf("after %d copies the window holds %d bytes of %d", i, n, budget)
		}
	}
	if forced.Groups > 0 || forced.Occurrences < copies/2 || w.Len() != others+1 {
		t.Errorf("%d texts and %d occurrences dropped, %d texts left: want none, most of the %d copies, and %d",
			forced.Groups, forced.Occurrences, w.Len(), copies, others+1)
	}
	if n := w.Stats().Counts.ForcedOccurrences; n != int64(forced.Occurrences) {
		t.Errorf("%d occurrences counted as dropped, want %d", n, forced.Occurrences)
	}
	if newest := sentence(fmt.Sprint("copy", copies-1), fmt.Sprint(name, copies-1), 4,
		feed.Time(2000+copies-1)); !w.groups.Has(newest) {
		t.Error("the newest copy is gone")
	}
}

// TestManyTextsOfNowStayWithinTheBudget: where all that fills the window is newer than its clock, whole blocks go.
func TestManyTextsOfNowStayWithinTheBudget(t *testing.T) {
	const budget = 2 << 20
	w := newScan(t, Config{Span: time.Hour, Budget: budget})
	name := strings.Repeat("n", 1000)
	for i := range 10_000 {
		tokens := []uint64{1, 2, 3, uint64(10 + i%500)}
		w.Insert(&feed.Sentence{
			Source: "s", Post: fmt.Sprint(i), Author: fmt.Sprint(name, i), Time: feed.Time(1000 + i), Tokens: tokens,
			Group: feed.GroupHash(tokens),
		})
		if n := w.Bytes(); n > budget {
			t.Fatalf("after %d sentences the window holds %d bytes of %d", i, n, budget)
		}
	}
	if w.Len() == 0 {
		t.Error("nothing is left")
	}
}

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"refrain/feed"
	"refrain/lookup"
)

// Open returns an empty store, which the suite closes.
type Open func(tb testing.TB, now func() time.Time, retention time.Duration) lookup.Store

// Retention is that of the stores that the suite opens.
const Retention = 24 * time.Hour

// Clock is a wall clock that stands until it is moved. It is safe for concurrent use.
type Clock struct{ at atomic.Int64 }

// NewClock returns a clock that stands at a day of 2026.
func NewClock() *Clock {
	c := &Clock{}
	c.at.Store(1_790_000_000_000)
	return c
}

// Now is the time on the clock.
func (c *Clock) Now() time.Time { return time.UnixMilli(c.at.Load()) }

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) { c.at.Add(d.Milliseconds()) }

// Run tries everything that a Store promises.
func Run(t *testing.T, open Open) {
	t.Run("agrees with the model", func(t *testing.T) { testModel(t, open) })
	t.Run("pages", func(t *testing.T) { testPages(t, open) })
	t.Run("names of any bytes", func(t *testing.T) { testNames(t, open) })
	t.Run("author's cap", func(t *testing.T) { testCap(t, open) })
	t.Run("retention", func(t *testing.T) { testRetention(t, open) })
	t.Run("deletion", func(t *testing.T) { testDeletion(t, open) })
	t.Run("deletion of an author", func(t *testing.T) { testAuthorDeletion(t, open) })
	t.Run("a long post", func(t *testing.T) { testLongPost(t, open) })
	t.Run("cursor", func(t *testing.T) { testCursor(t, open) })
}

// Match makes a match of jaccard between two sentences, as a reporter would report it.
func Match(later, earlier feed.Occurrence, group feed.Hash, jaccard float64) *feed.Match {
	own := group
	if jaccard != 1 {
		own = feed.GroupHash([]uint64{math.Float64bits(jaccard)})
	}
	return &feed.Match{
		ID: feed.EventID("near", later.Source, later.Post, later.Sentence, own, group), Scheme: "near", Group: group,
		Jaccard: jaccard, Identical: jaccard == 1, Later: later, Earlier: earlier, Occurrences: 2, Authors: 1,
		First: feed.First{Source: earlier.Source, Post: earlier.Post, Author: earlier.Author, Time: earlier.Time},
	}
}

// world is a small feed, so that everything meets everything.
type world struct{}

func (world) occurrence(rt *rapid.T, label string) feed.Occurrence {
	post := rapid.IntRange(0, 7).Draw(rt, label)
	version := rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(rt, label+" version")
	sentence := rapid.IntRange(0, 2).Draw(rt, label+" sentence")
	return feed.Occurrence{
		Source: []string{"", "x"}[post%2], Post: fmt.Sprintf("p%d", post/2*5),
		Author: fmt.Sprintf("a%d", (post+version)%3), // a version may name another author
		Time:   feed.Time(1000 + 10*(post/3) + 7*version), Sentence: sentence,
		Text: fmt.Sprintf("text of %d in version %d of %d", sentence, version, post),
	}
}

func groupOf(n int) feed.Hash { return feed.GroupHash([]uint64{uint64(n)}) }

func (w world) match(rt *rapid.T) lookup.Change {
	later, earlier, first := w.occurrence(rt, "later"), w.occurrence(rt, "earlier"), w.occurrence(rt, "first")
	if earlier.Source == later.Source && earlier.Post == later.Post {
		earlier = feed.Occurrence{} // nothing repeats itself; left out is allowed
	}
	j := rapid.SampledFrom([]float64{1, 1, 0.8, 6.0 / 7, 511.0 / 512, 0.3000000000000004}).Draw(rt, "jaccard")
	m := Match(later, earlier, groupOf(rapid.IntRange(0, 2).Draw(rt, "group")), j)
	m.First = feed.First{Source: first.Source, Post: first.Post, Author: first.Author, Time: first.Time}
	m.Occurrences, m.Authors = rapid.IntRange(2, 5).Draw(rt, "occurrences"), rapid.IntRange(1, 3).Draw(rt, "authors")
	m.AuthorsEstimated = m.Authors == 2
	return lookup.Change{Match: m, Time: w.foundAt(rt)}
}

// foundAt is when an event was found: before and after deletions of authors, and what they reach.
func (world) foundAt(rt *rapid.T) feed.Time {
	return feed.Time(rapid.IntRange(1, 5).Draw(rt, "minute")) * feed.Time(feed.RetractionLag.Milliseconds())
}

// testModel gives a store and the model the same events, with redeliveries, deletions and time passing, and asks both.
func testModel(t *testing.T, open Open) {
	rapid.Check(t, func(rt *rapid.T) {
		clock := NewClock()
		got, want := open(t, clock.Now, Retention), NewMemory(clock.Now, Retention)
		defer closed(rt, got)
		var history []lookup.Change
		w := world{}
		rt.Repeat(map[string]func(*rapid.T){
			"events": func(rt *rapid.T) {
				var batch []lookup.Change
				for range rapid.IntRange(1, 6).Draw(rt, "n") {
					batch = append(batch, w.match(rt))
				}
				history = append(history, batch...)
				apply(rt, batch, got, want)
			},
			"redelivery": func(rt *rapid.T) {
				if len(history) == 0 {
					rt.Skip("nothing to deliver again")
				}
				batch := rapid.SliceOfN(rapid.SampledFrom(history), 1, 8).Draw(rt, "again")
				apply(rt, batch, got)
				apply(rt, batch[:len(batch)/2], got)
				apply(rt, batch, want)
			},
			"deletion": func(rt *rapid.T) {
				o := w.occurrence(rt, "deleted")
				deletion := lookup.Change{Deleted: feed.Tombstone{Source: o.Source, Post: o.Post}}
				apply(rt, []lookup.Change{w.match(rt), deletion, w.match(rt)}, got, want)
			},
			"deletion of an author": func(rt *rapid.T) {
				o := w.occurrence(rt, "deleted")
				deletion := lookup.Change{Deleted: feed.Tombstone{Source: o.Source, Author: o.Author}, Time: w.foundAt(rt)}
				apply(rt, []lookup.Change{w.match(rt), deletion, w.match(rt)}, got, want)
			},
			"time": func(rt *rapid.T) {
				clock.Advance(Retention / 8 * time.Duration(rapid.SampledFrom([]int{1, 2, 2, 3, 5, 8, 11}).Draw(rt, "passes")))
			},
			"questions": func(rt *rapid.T) { compareAll(rt, got, want) },
		})
		compareAll(rt, got, want)
	})
}

func apply(tb rapid.TB, batch []lookup.Change, stores ...lookup.Store) {
	tb.Helper()
	for _, s := range stores {
		if err := s.Apply(context.Background(), batch); err != nil {
			tb.Fatal(err)
		}
	}
}

// compareAll asks both about everything in the small world.
func compareAll(tb rapid.TB, got, want lookup.Store) {
	tb.Helper()
	for n := range 8 {
		source, id := []string{"", "x"}[n%2], fmt.Sprintf("p%d", n/2*5)
		same(tb, "post "+source+"/"+id, reuseOf(tb, got, source, id, 3), reuseOf(tb, want, source, id, 1000))
		author := fmt.Sprintf("a%d", n%3)
		same(tb, "author "+author, authorOf(tb, got, source, author), authorOf(tb, want, source, author))
	}
	for g := range 4 {
		same(tb, fmt.Sprint("group ", g), textOf(tb, got, groupOf(g), 2), textOf(tb, want, groupOf(g), 1000))
	}
}

func same(tb rapid.TB, what string, got, want any) {
	tb.Helper()
	if reflect.DeepEqual(want, got) { // quicker, when it says yes
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		tb.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// reuseOf puts the pages together.
func reuseOf(tb rapid.TB, s lookup.Store, source, id string, limit int) lookup.Reuse {
	tb.Helper()
	var merged lookup.Reuse
	for after := ""; ; after = merged.Next {
		r, err := s.Reuse(context.Background(), source, id, lookup.Page{Limit: limit, After: after})
		if errors.Is(err, lookup.ErrDeleted) {
			return lookup.Reuse{Source: source, Post: id, Next: "deleted"}
		}
		if err != nil {
			tb.Fatal(err)
		}
		if r.Next != "" && len(r.RepeatedBy) != limit {
			tb.Fatalf("a page of %d, want %d", len(r.RepeatedBy), limit)
		}
		r.RepeatedBy = append(merged.RepeatedBy, r.RepeatedBy...)
		if merged = r; r.Next == "" {
			break
		}
	}
	if len(merged.RepeatedBy) != merged.Total {
		tb.Fatalf("post %s/%s: %d repetitions, total %d", source, id, len(merged.RepeatedBy), merged.Total)
	}
	return merged
}

func textOf(tb rapid.TB, s lookup.Store, group feed.Hash, limit int) lookup.Text {
	tb.Helper()
	var merged lookup.Text
	for after := ""; ; after = merged.Next {
		x, ok, err := s.Text(context.Background(), group, lookup.Page{Limit: limit, After: after})
		if err != nil {
			tb.Fatal(err)
		}
		if !ok {
			return lookup.Text{}
		}
		x.RepeatedBy = append(merged.RepeatedBy, x.RepeatedBy...)
		if merged = x; x.Next == "" {
			return merged
		}
	}
}

func authorOf(tb rapid.TB, s lookup.Store, source, author string) []lookup.RepeatedBy {
	tb.Helper()
	list, err := s.Author(context.Background(), source, author, lookup.AuthorCap)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// testPages lists what happened at one time in pages of all sizes.
func testPages(t *testing.T, open Open) {
	s := open(t, NewClock().Now, Retention)
	defer closed(t, s)
	origin := feed.Occurrence{Post: "m", Time: 1000, Text: "words"}
	var batch []lookup.Change
	for i := range 30 {
		o := feed.Occurrence{Post: fmt.Sprintf("%c%d", 'a'+i, i), Time: feed.Time(1000 + i/25), Text: "words"}
		batch = append(batch, lookup.Change{Match: Match(o, origin, groupOf(1), 1)})
	}
	apply(t, batch, s)
	want := reuseOf(t, s, "", "m", 1000)
	if want.Total != 18 { // those after m in the order of the feed: 12 to 29
		t.Errorf("total %d, want 18", want.Total)
	}
	for limit := 1; limit < 35; limit++ {
		same(t, fmt.Sprint("pages of ", limit), reuseOf(t, s, "", "m", limit), want)
	}
	r, err := s.Reuse(t.Context(), "", "m", lookup.Page{})
	if err != nil || r.Total != 18 || len(r.RepeatedBy) != 0 {
		t.Errorf("a page of none: %+v, %v", r, err)
	}
	for _, after := range []string{"!", "x", "AAAA"} {
		if _, err := s.Reuse(t.Context(), "", "m", lookup.Page{Limit: 1, After: after}); err == nil {
			t.Errorf("after %q is taken", after)
		}
	}
}

func testNames(t *testing.T, open Open) {
	clock := NewClock()
	s, want := open(t, clock.Now, Retention), NewMemory(clock.Now, Retention)
	defer closed(t, s)
	names := []string{"", "a", "a\x00", "a\x00\x01", "a\x00\xff", "a\x01", "\x00", "\xff\xfe", "é",
		strings.Repeat("\x00", lookup.MaxName), strings.Repeat("n", lookup.MaxName)}
	var batch []lookup.Change
	for i, source := range names {
		for j, id := range names[1:] {
			later := feed.Occurrence{Source: source, Post: id, Author: id, Sentence: j, Time: 5, Text: "t"}
			earlier := feed.Occurrence{Source: names[(i+1)%len(names)], Post: id, Sentence: i, Time: 4}
			batch = append(batch, lookup.Change{Match: Match(later, earlier, groupOf(1), 1)})
		}
	}
	apply(t, batch, s, want)
	for _, source := range names {
		for _, id := range names[1:] {
			same(t, fmt.Sprintf("%.20q %.20q", source, id), reuseOf(t, s, source, id, 1000), reuseOf(t, want, source, id, 1000))
			same(t, fmt.Sprintf("author %.20q %.20q", source, id), authorOf(t, s, source, id), authorOf(t, want, source, id))
		}
	}
}

func testCap(t *testing.T, open Open) {
	clock := NewClock()
	s, want := open(t, clock.Now, Retention), NewMemory(clock.Now, Retention)
	defer closed(t, s)
	for i := range 5 * lookup.AuthorCap / 2 {
		o := feed.Occurrence{Post: fmt.Sprint(i), Author: "busy", Time: feed.Time(2000 + i*37%250)}
		apply(t, []lookup.Change{{Match: Match(o, feed.Occurrence{Post: "origin", Time: 1}, groupOf(i%3), 0.8)}}, s, want)
		if i%50 == 0 {
			clock.Advance(Retention / 8)
		}
	}
	same(t, "author", authorOf(t, s, "", "busy"), authorOf(t, want, "", "busy"))
	if n := len(authorOf(t, s, "", "busy")); n != lookup.AuthorCap {
		t.Errorf("%d, want %d", n, lookup.AuthorCap)
	}
}

// testRetention retains what is observed again, and lets go the rest between one and one and a quarter retentions.
func testRetention(t *testing.T, open Open) {
	clock := NewClock()
	s := open(t, clock.Now, Retention)
	defer closed(t, s)
	origin := feed.Occurrence{Post: "origin", Time: 1, Text: "words"}
	once := lookup.Change{Match: Match(feed.Occurrence{Post: "once", Time: 2, Author: "a"}, origin, groupOf(1), 1)}
	often := lookup.Change{Match: Match(feed.Occurrence{Post: "often", Time: 3, Author: "a"}, origin, groupOf(1), 1)}
	apply(t, []lookup.Change{once, often}, s)
	var expired time.Duration
	for passed := Retention / 16; passed <= 2*Retention; passed += Retention / 16 {
		clock.Advance(Retention / 16)
		apply(t, []lookup.Change{often}, s)
		if n := reuseOf(t, s, "", "origin", 10).Total; n == 1 && expired == 0 {
			expired = passed
		}
		if len(reuseOf(t, s, "", "often", 1).RepeatOf) != 1 {
			t.Fatalf("after %s: what is told again is gone", passed)
		}
	}
	if expired < Retention || expired > Retention*5/4 {
		t.Errorf("gone after %s of %s", expired, Retention)
	}
	clock.Advance(2 * Retention)
	if _, ok, err := s.Text(t.Context(), groupOf(1), lookup.Page{}); ok || err != nil {
		t.Errorf("a group lives for ever: %v", err)
	}
	if r := reuseOf(t, s, "", "often", 1); len(r.RepeatOf) > 0 {
		t.Errorf("a post lives for ever: %+v", r)
	}
}

// testDeletion takes the origin of many away.
func testDeletion(t *testing.T, open Open) {
	s := open(t, NewClock().Now, Retention)
	defer closed(t, s)
	origin := feed.Occurrence{Post: "gone", Time: 1, Author: "a", Text: "gone's words"}
	var batch []lookup.Change
	for i := range 1500 { // more than one reading
		batch = append(batch, lookup.Change{Match: Match(feed.Occurrence{Post: fmt.Sprint(i), Time: feed.Time(2 + i),
			Author: "b"}, origin, groupOf(1), 1)})
	}
	origin.Author = "a"
	batch = append(batch, lookup.Change{Match: Match(origin, feed.Occurrence{Post: "older", Time: 0, Text: "older words"},
		groupOf(2), 0.9)})
	deletion := lookup.Change{Deleted: feed.Tombstone{Post: "gone"}}
	apply(t, append(batch, deletion), s)
	for range 2 {
		if _, err := s.Reuse(t.Context(), "", "gone", lookup.Page{}); !errors.Is(err, lookup.ErrDeleted) {
			t.Errorf("a deleted post: %v", err)
		}
		for i := 0; i < 1500; i += 49 {
			r := reuseOf(t, s, "", fmt.Sprint(i), 2000)
			if len(r.RepeatOf) != 1 || r.RepeatOf[0].Earlier != nil || r.RepeatOf[0].Text != "" || r.Total != 1499-i {
				t.Fatalf("post %d: %+v", i, r)
			}
			for _, b := range r.RepeatedBy {
				if b.Later.Post == "gone" {
					t.Error("a deleted post is said to repeat")
				}
			}
		}
		if x := textOf(t, s, groupOf(1), 1000); x.Text != "" || x.First != nil || x.Total != 1500 {
			t.Errorf("text %q, first %v, %d", x.Text, x.First, x.Total)
		}
		if n := len(authorOf(t, s, "", "a")); n > 0 {
			t.Errorf("author of a deleted post: %d", n)
		}
		if x := textOf(t, s, groupOf(2), 1000); x.Total != 0 {
			t.Errorf("the group that it repeated: %+v", x)
		}
		apply(t, append(batch, deletion, batch[0]), s) // delivered again it stays away
	}
}

// testAuthorDeletion deletes an author of more posts than his list holds, and whose posts stand in every role. What he
// posts later stays, also where it is observed again.
func testAuthorDeletion(t *testing.T, open Open) {
	s := open(t, NewClock().Now, Retention)
	defer closed(t, s)
	lag := feed.Time(feed.RetractionLag.Milliseconds())
	var batch []lookup.Change
	addMatch := func(made feed.Time, later, earlier string, author, other string, group int) {
		l := feed.Occurrence{Source: "x", Post: later, Author: author, Time: feed.Time(1000 + len(batch)),
			Text: "words of " + author}
		e := feed.Occurrence{Source: "x", Post: earlier, Author: other, Time: feed.Time(len(batch)), Text: "words of " + other}
		batch = append(batch, lookup.Change{Match: Match(l, e, groupOf(group), 1), Time: made})
	}
	const posts = 3 * lookup.AuthorCap
	for i := range posts {
		addMatch(1000, fmt.Sprint("later", i), "origin", "ann", "bob", 1)
		addMatch(1000, fmt.Sprint("bob's ", i), fmt.Sprint("earlier", i), "bob", "ann", 2+i)
	}
	addMatch(1000+lag+1, "back", "origin", "ann", "bob", 1)
	deletion := lookup.Change{Deleted: feed.Tombstone{Source: "x", Author: "ann"}, Time: 1000}
	elsewhere := lookup.Change{Deleted: feed.Tombstone{Source: "y", Author: "bob"}, Time: 1 << 40}
	apply(t, append(slices.Clone(batch), deletion, elsewhere), s)
	for range 2 {
		for i := range posts {
			for _, post := range []string{fmt.Sprint("later", i), fmt.Sprint("earlier", i)} {
				if _, err := s.Reuse(t.Context(), "x", post, lookup.Page{}); !errors.Is(err, lookup.ErrDeleted) {
					t.Fatalf("%s: %v", post, err)
				}
			}
			if r := reuseOf(t, s, "x", fmt.Sprint("bob's ", i), 10); len(r.RepeatOf) != 1 || r.RepeatOf[0].Earlier != nil {
				t.Fatalf("bob's post %d: %+v", i, r)
			}
			if x := textOf(t, s, groupOf(2+i), 10); x.First != nil || x.Text != "words of bob" && x.Text != "" {
				t.Fatalf("text %d: %+v", i, x)
			}
		}
		waitForTotal(t, s, "x", "origin", 1)
		if r := reuseOf(t, s, "x", "origin", 1000); r.Total != 1 || r.RepeatedBy[0].Later.Post != "back" {
			t.Errorf("origin: %+v", r)
		}
		if list := authorOf(t, s, "x", "ann"); len(list) != 1 || list[0].Later.Post != "back" {
			t.Errorf("ann: %+v", list)
		}
		apply(t, batch, s) // delivered again it stays away
	}
}

// waitForTotal gives the store the idle time that it takes to remove what it only hides at first: until then totals count it.
func waitForTotal(t *testing.T, s lookup.Store, source, post string, want int) {
	t.Helper()
	got := -1
	for deadline := time.Now().Add(time.Minute); got != want && time.Now().Before(deadline); {
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := s.Reuse(t.Context(), source, post, lookup.Page{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		got = r.Total
	}
	if got != want {
		t.Fatalf("post %s/%s: total %d, want %d", source, post, got, want)
	}
}

func testCursor(t *testing.T, open Open) {
	s := open(t, NewClock().Now, Retention)
	defer closed(t, s)
	if v, err := s.Get(t.Context(), "publish/lookup"); v != nil || err != nil {
		t.Fatalf("a new store has the cursor %q, %v", v, err)
	}
	m := lookup.Change{Match: Match(feed.Occurrence{Post: "b", Time: 2}, feed.Occurrence{Post: "a", Time: 1}, groupOf(1), 1)}
	for i := range 3 {
		apply(t, []lookup.Change{m}, s)
		want := fmt.Appendf(nil, "%d", i)
		if err := s.Put(t.Context(), "publish/lookup", want); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(t.Context(), "publish/lookup"); !bytes.Equal(got, want) || err != nil {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	for _, key := range []string{"", "a b", ".x"} {
		if err := s.Put(t.Context(), key, nil); err == nil {
			t.Errorf("key %q is taken", key)
		}
	}
}

func closed(tb rapid.TB, s lookup.Store) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Error(err)
	}
}

package sigstore

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/text"
)

var theta = text.Jaccard.At(text.Threshold{Num: 3, Den: 5})

func mustModel(tb testing.TB) *hashcodes.Model {
	tb.Helper()
	m, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func newScan(tb testing.TB, cfg Config) *Window { return newScanGranular(tb, cfg, defaultGranularity) }

func newScanGranular(tb testing.TB, cfg Config, g granularity) *Window {
	cfg.Model = mustModel(tb)
	cfg.Engine = newAllRows
	return newWindow(cfg, g)
}

// randomSentence has 3 to 8 of 30 tokens.
func randomSentence(r *rand.Rand, post int, at feed.Time) feed.Sentence {
	var tokens []uint64
	for range 3 + r.IntN(6) {
		tokens = append(tokens, uint64(r.IntN(30)))
	}
	tokens = text.Set(tokens)
	return feed.Sentence{
		Post: fmt.Sprintf("p%06d", post), Author: fmt.Sprint("a", r.IntN(9)), Time: at, Tokens: tokens,
		Group: feed.GroupHash(tokens), Text: fmt.Sprint(tokens), Version: uint64(post),
	}
}

// pair says that a sentence repeats a group.
type pair struct {
	post  string
	group feed.Hash
}

// lookupPairs looks x up in w the way the detector does, forwards only.
func lookupPairs(w *Window, x *feed.Sentence) (pairs []pair) {
	groups, q := w.searcher.Search(x)
	for _, g := range groups {
		if !theta.Reaches(q.Overlap(g), len(x.Tokens), g.Size()) {
			continue
		}
		if _, _, ok := w.groups.Earlier(g, x); ok {
			pairs = append(pairs, pair{x.Post, w.groups.Hash(g)})
		}
	}
	return pairs
}

// brutePairs is what the definition says of x among the sentences before it.
func brutePairs(before []feed.Sentence, x *feed.Sentence, span feed.Time) (pairs []pair) {
	for i := range before {
		a := &before[i]
		p := pair{x.Post, a.Group}
		if x.Time-a.Time <= span && theta.Reaches(text.Intersection(a.Tokens, x.Tokens), len(a.Tokens), len(x.Tokens)) &&
			!slices.Contains(pairs, p) {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// TestHowTheWindowIsCutChangesNothing: blocks of a few rows or thousands, few slices or many.
func TestHowTheWindowIsCutChangesNothing(t *testing.T) {
	const span = 2 * time.Second
	for _, c := range []granularity{{1, 1, 2}, {2, 3, 2}, {16, 7, 4}, {100, 64, 3}, {16, 4096, 16}} {
		r := rand.New(rand.NewPCG(5, 6))
		w := newScanGranular(t, Config{Span: span, Lateness: 100 * time.Millisecond}, c)
		var all []feed.Sentence
		found := 0
		for i := range 3000 {
			x := randomSentence(r, i, feed.Time(i*4))
			got, want := lookupPairs(w, &x), brutePairs(all[max(0, i-600):], &x, 2000)
			if !sameSet(got, want) {
				t.Fatalf("cut %+v, sentence %d: %d groups repeated, want %d", c, i, len(got), len(want))
			}
			found += len(got)
			w.Insert(&x)
			w.Advance(x.Time)
			all = append(all, x)
		}
		if s := w.Stats(); found < 500 || s.Groups > 2*600 {
			t.Errorf("cut %+v: %d repeats found, %d groups left of 600 sentences in the span", c, found, s.Groups)
		}
	}
}

func sameSet(a, b []pair) bool {
	if len(a) != len(b) {
		return false
	}
	for _, p := range a {
		if !slices.Contains(b, p) {
			return false
		}
	}
	return true
}

// longSentence is hardly ever said twice.
func longSentence(r *rand.Rand, post int, at feed.Time) feed.Sentence {
	var tokens []uint64
	for range 12 {
		tokens = append(tokens, r.Uint64N(200_000))
	}
	tokens = text.Set(tokens)
	return feed.Sentence{
		Post: fmt.Sprintf("post-%09d", post), Author: fmt.Sprint("author ", r.IntN(2000)), Time: at, Tokens: tokens,
		Group: feed.GroupHash(tokens), Text: fmt.Sprintf("%090d", r.Uint64()), Version: r.Uint64(),
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestBytesAreWhatTheHeapHolds: the budget counts what is really there.
func TestBytesAreWhatTheHeapHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	before := heap()
	w := newScan(t, Config{Span: 24 * time.Hour, Lateness: time.Minute})
	for i := range 60_000 {
		x := longSentence(r, i, feed.Time(i))
		w.Insert(&x)
	}
	held, counted := heap()-before, w.Bytes()
	if ratio := float64(counted) / float64(held); ratio < 0.8 || ratio > 1.4 {
		t.Errorf("%d bytes counted, %d on the heap: ratio %.2f", counted, held, ratio)
	}
	runtime.KeepAlive(w)
}

// TestBudgetHolds: what the window counts never stays above the budget, whatever the clock does, and what it
// dropped is told.
func TestBudgetHolds(t *testing.T) {
	const budget = 4 << 20
	for name, step := range map[string]feed.Time{"clock at a stand": 0, "clock running": 10} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(9, 10))
			var forced Forced
			w := newScan(t, Config{Span: 240 * time.Hour, Lateness: time.Minute, Budget: budget, OnForced: func(f Forced) {
				forced.Groups += f.Groups
				forced.Span = f.Span
			}})
			for i := range 40_000 {
				x := longSentence(r, i, feed.Time(i)*step)
				w.Insert(&x)
				if w.Bytes() > budget {
					t.Fatalf("after %d sentences the window holds %d bytes", i, w.Bytes())
				}
				if i%100 == 0 && step > 0 {
					w.Advance(x.Time)
				}
			}
			s := w.Stats()
			if s.Bytes < budget/2 {
				t.Errorf("the window holds only %d bytes of its budget", s.Bytes)
			}
			if forced.Groups == 0 || int64(forced.Groups) != s.Counts.Forced || s.Groups+forced.Groups != 40_000 {
				t.Errorf("told of %d groups, counted %d, %d left of 40,000", forced.Groups, s.Counts.Forced, s.Groups)
			}
			if s.Span >= 240*time.Hour || s.Span < forced.Span {
				t.Errorf("effective span %v, told %v", s.Span, forced.Span)
			}
		})
	}
}

// TestReservedBudget: what others hold of the budget the window leaves to them, also what they begin to hold later.
func TestReservedBudget(t *testing.T) {
	const budget = 4 << 20
	var reserved int64
	w := newScan(t, Config{Span: 240 * time.Hour, Budget: budget, Reserved: func() int64 { return reserved }})
	r := rand.New(rand.NewPCG(9, 10))
	for i := range 20_000 {
		reserved = int64(i/5000) << 19
		x := longSentence(r, i, feed.Time(i))
		w.Insert(&x)
		if n := w.Bytes() + reserved; n > budget {
			t.Fatalf("after %d sentences the window and others hold %d bytes", i, n)
		}
	}
	if w.Bytes() < (budget-reserved)/2 {
		t.Errorf("the window holds only %d bytes", w.Bytes())
	}
}

// TestMemoryFollowsTheWindow: after a flood the window shrinks to what lives.
func TestMemoryFollowsTheWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	before := heap()
	w := newScan(t, Config{Span: time.Second, Lateness: 0})
	now := feed.Time(0)
	insert := func(n int, gap feed.Time) int64 {
		for i := range n {
			now += gap
			x := longSentence(r, int(now)*10+i, now)
			w.Insert(&x)
			w.Advance(now)
		}
		return heap() - before
	}
	quiet := insert(2000, 10) // 100 a second
	for i := range 50_000 {
		x := longSentence(r, -i, now)
		w.Insert(&x)
	}
	flood := heap() - before
	after := insert(2000, 10)
	if after > quiet*2 || flood < 10*quiet {
		t.Errorf("%d bytes before the flood, %d in it, %d after", quiet, flood, after)
	}
	runtime.KeepAlive(w)
}

func TestDeleteTakesAPostOut(t *testing.T) {
	w := newScan(t, Config{Span: time.Hour, Lateness: time.Minute})
	tokens := []uint64{1, 2, 3, 4}
	x := func(post string, at feed.Time) *feed.Sentence {
		return &feed.Sentence{Post: post, Time: at, Tokens: tokens, Group: feed.GroupHash(tokens), Text: "one two three four"}
	}
	w.Insert(x("a", 1))
	w.Insert(x("b", 2))
	deletePost(w, "", "a")
	g := w.groups.Get(x("c", 3))
	if shown, _, ok := w.groups.Earlier(g, x("c", 3)); !ok || shown.Post != "b" {
		t.Errorf("witness %q, want b", shown.Post)
	}
	if first := w.groups.view(g).first(); first.Post != "b" {
		t.Errorf("first is %q after a was deleted", first.Post)
	}
	if n := w.Stats().Counts.Deleted; n != 1 {
		t.Errorf("%d occurrences deleted, want 1", n)
	}
	w.Insert(x("d", 4)) // while there is a deletion
	deletePost(w, "", "d")
	deletePost(w, "", "b")
	if groups, _ := w.searcher.Search(x("c", 3)); len(groups) > 0 || w.Len() != 0 || w.Stats().Occurrences != 0 {
		t.Errorf("%d groups found, %d left", len(groups), w.Len())
	}
}

// Deletions among expiry: the window never shows a deleted post again, and forgets the posts that have expired.
func TestDeleteWhileTheWindowRolls(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	w := newScanGranular(t, Config{Span: 2 * time.Second, Lateness: 0}, granularity{4, 64, 2})
	deleted := map[string]bool{}
	for i := range 6000 {
		x := randomSentence(r, i, feed.Time(i*4))
		groups, _ := w.searcher.Search(&x)
		for _, g := range groups {
			if shown, _, ok := w.groups.Earlier(g, &x); ok && deleted[shown.Post] {
				t.Fatalf("sentence %d repeats the deleted post %s", i, shown.Post)
			}
		}
		w.Insert(&x)
		w.Advance(x.Time)
		if victim := fmt.Sprintf("p%06d", i-r.IntN(300)); i%5 == 0 {
			deleted[victim] = true
			w.Delete(func(_, post string) bool { return deleted[post] }, []feed.Name{{Post: victim}})
		}
		if r.IntN(3) == 0 {
			w.PurgeSome(1 + r.IntN(100))
		}
	}
	for w.PurgeSome(10) {
	}
	if n := w.Stats().Counts.Deleted; n < 500 || w.groups.purge.isPending() {
		t.Errorf("%d occurrences deleted; more to come: %v", n, w.groups.purge.isPending())
	}
	w.blocks.each(func(g Group) {
		v := w.groups.view(g)
		for i := range v.len() {
			if post := v.at(i).post.String(); deleted[post] || deleted[v.first().Post] {
				t.Errorf("post %s is there still, or %s as the first of its group", post, v.first().Post)
			}
		}
	})
}

func boundsOf() *hashcodes.Bounds { return hashcodes.NewBounds(theta, 1) }

func sentenceOf(post int, at feed.Time, version uint64, tokens ...uint64) feed.Sentence {
	tokens = text.Set(tokens)
	return feed.Sentence{
		Post: fmt.Sprint(post), Time: at, Tokens: tokens, Group: feed.GroupHash(tokens), Version: version,
		Coverage: 1, End: 20, Text: "some text of a post.",
	}
}

// A budget divides by the number of groups, of which there may be none though the block has rows.
func TestBudgetAfterEverythingIsDeleted(t *testing.T) {
	w := newScan(t, Config{Span: time.Hour, Budget: 1 << 20})
	for i := range 100 {
		x := sentenceOf(i, feed.Time(i), 0, uint64(i), uint64(i+1), uint64(i+2))
		w.Insert(&x)
	}
	for i := range 100 {
		deletePost(w, "", fmt.Sprint(i))
	}
	w.groups.purgeAll()
	x := sentenceOf(1000, 1000, 0, 1, 2, 3)
	if !w.Insert(&x) || w.Len() != 1 {
		t.Errorf("%d groups, want the one inserted", w.Len())
	}
}

// deletePost deletes a post beside those that are being deleted.
func deletePost(w *Window, source, id string) {
	before := w.groups.purge.gone
	w.Delete(func(s, post string) bool { return s == source && post == id || before != nil && before(s, post) },
		[]feed.Name{{Source: source, Post: id}})
}

// TestDeletionOfNobodysPost: it evicts nothing from a window that is full, and takes no memory of it, neither at once nor
// as the window goes on.
func TestDeletionOfNobodysPost(t *testing.T) {
	const budget = 1 << 20
	insert := func(w *Window, from, to int) {
		for i := from; i < to; i++ {
			x := sentenceOf(i, feed.Time(i), 0, uint64(i), uint64(i+1), uint64(i+2))
			w.Insert(&x)
			w.Advance(x.Time)
		}
	}
	full := func() *Window {
		w := newScan(t, Config{Span: 87600 * time.Hour, Budget: budget})
		i := 0
		for ; w.Bytes() < budget*97/100; i++ {
			insert(w, i, i+1)
		}
		return w
	}
	a, b := full(), full()
	bytes := b.Bytes()
	deletePost(b, "", "nobody")
	if b.Bytes() != bytes {
		t.Errorf("%d bytes after the deletion, %d before", b.Bytes(), bytes)
	}
	n := a.Len()
	for _, w := range []*Window{a, b} {
		insert(w, n, n+10)
	}
	if a.Len() != b.Len() || b.Stats().Counts.Forced != 0 {
		t.Errorf("%d texts beside %d without the deletion, %d evicted", b.Len(), a.Len(), b.Stats().Counts.Forced)
	}
	for _, w := range []*Window{a, b} {
		insert(w, n+10, 30_000)
	}
	if a.Len() != b.Len() || b.Bytes() > budget {
		t.Errorf("later %d texts beside %d, %d bytes", b.Len(), a.Len(), b.Bytes())
	}
}

// Versions of one post, all with one set of words, are told apart by a search, not a walk.
func TestManyVersionsOfAPost(t *testing.T) {
	w := newScan(t, Config{Span: time.Hour})
	const versions = 20_000
	for round := range 2 {
		for i := range uint64(versions) {
			x := sentenceOf(1, 1, i*2654435761%(1<<32), 1, 2, 3)
			if w.Insert(&x) != (round == 0) {
				t.Fatalf("version %d, round %d: taken for the other", i, round)
			}
		}
	}
	if w.groups.occurrences != versions {
		t.Errorf("%d occurrences of %d versions", w.groups.occurrences, versions)
	}
}

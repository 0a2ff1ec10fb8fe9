package sigstore

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/feed"
)

// oddSentences are of few texts and posts, with ids, names and texts of all kinds and lengths.
func oddSentences(r *rand.Rand, n int) (xs []feed.Sentence) {
	ids := []string{"0", "7", "007", "18446744073709551615", "9999999999999999999", "ira-0341030", "", "x",
		strings.Repeat("9", 30), strings.Repeat("i", 70_000)}
	names := []string{"", "ann", "bob", strings.Repeat("n", 300), strings.Repeat("m", 66_000)}
	for i := range n {
		tokens := []uint64{1, 2, 3, uint64(4 + r.IntN([]int{5, 40}[i%2]))} // long chains and short ones
		start := r.IntN(3) * 1000
		x := feed.Sentence{
			Source: []string{"", "s", "other"}[r.IntN(3)], Post: ids[r.IntN(len(ids))], Author: names[r.IntN(len(names))],
			Lang: []string{"", "en", "zh"}[r.IntN(3)], Time: feed.Time(r.Int64N(1000)) * 86_400_000, Index: r.IntN(2),
			Start: start, Text: strings.Repeat("text ", []int{0, 1, 20, 14_000}[r.IntN(4)]), Tokens: tokens,
			Group: feed.GroupHash(tokens), Sequence: uint64(r.IntN(2)), Version: uint64(r.IntN(3)),
			Coverage: []float32{1, 0.25, 1.0 / 3}[r.IntN(3)], Repost: i%2 == 0, TimeAdjusted: i%3 == 0,
			TextCut: i%5 == 0, Converted: i%3 == 0, Link: []string{"", "", "https://example.org/1", strings.Repeat("l", 1024)}[r.IntN(4)],
			Meta: []string{"", "", `{"followers":12}`}[r.IntN(3)],
		}
		x.End = x.Start + len(x.Text)
		if i%7 == 0 {
			x.Time += feed.Time(r.Int64N(2000) - 1000) // no whole second, before the first one too
		}
		if i%50 == 0 {
			x.Time = math.MinInt64 / 8
		}
		xs = append(xs, x)
	}
	return xs
}

// TestOccurrencesComeBack: whatever was said is read back as it was, in the order of the feed, from chains and from
// records of a group's own, after moves from block to block too.
func TestOccurrencesComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []granularity{defaultGranularity, {parts: 2, minRows: 1, thinFrom: 1 << 20},
		{parts: 16, minRows: 3, thinFrom: 2}} {
		w := newScanGranular(t, Config{Span: 87600 * time.Hour, Lateness: 0}, c)
		want := map[feed.Hash][]occurrence{}
		for _, x := range oddSentences(r, 400) {
			if w.Insert(&x) {
				want[x.Group] = append(want[x.Group], occurrenceOf(&x))
			}
		}
		w.rebuild()
		for h, all := range want {
			slices.SortStableFunc(all, func(a, b occurrence) int { return a.key().compare(b.key()) })
			compareView(t, w.groups.view(named(w, h)), all)
			if got := w.groups.Hash(named(w, h)); got != h {
				t.Errorf("the name of group %s is told as %s", h, got)
			}
		}
	}
}

// TestWhatIsTooFarFromItsBlock: a row names places of later arenas within 2 GiB; a group that goes on beyond that has
// records of its own.
func TestWhatIsTooFarFromItsBlock(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	w := newScanGranular(t, Config{Span: 87600 * time.Hour}, granularity{16, 4096, 1 << 20})
	want := map[feed.Hash][]occurrence{}
	for i, x := range oddSentences(r, 60) {
		if i%20 == 19 {
			w.close()
			w.blocks.current().arena.base += listFlag
		}
		if w.Insert(&x) {
			want[x.Group] = append(want[x.Group], occurrenceOf(&x))
		}
	}
	for h, all := range want {
		slices.SortStableFunc(all, func(a, b occurrence) int { return a.key().compare(b.key()) })
		compareView(t, w.groups.view(named(w, h)), all)
	}
}

// named is the group of a name.
func named(w *Window, h feed.Hash) Group {
	return w.groups.keyed(keyOfHash(&h), func(Group) bool { return true })
}

// TestFieldsCostWhatTheyAre: an occurrence without link and meta spends nothing on them, and with them the window counts
// their bytes.
func TestFieldsCostWhatTheyAre(t *testing.T) {
	f := frame{texts: true}
	o := occurrence{author: "ann", text: "some words", coverage: 1}
	size := func(o occurrence) int { return len(f.encode(nil, &o, links{})) }
	with := o
	with.link, with.meta = strings.Repeat("l", 100), strings.Repeat("m", 100)
	if got, want := size(with), size(o)+1+2*(1+100); got != want {
		t.Errorf("%d bytes with link and meta, want %d", got, want)
	}
	if o.rareFlags() != 0 || o.flags(&f, links{})&isRare != 0 {
		t.Error("an occurrence without any has rare flags")
	}
	bytes := func(meta string) int64 {
		w := newScan(t, Config{Span: time.Hour})
		for i := range 2000 {
			x := randomSentence(rand.New(rand.NewPCG(1, uint64(i))), i, feed.Time(i))
			x.Meta = meta
			w.Insert(&x)
		}
		return w.Bytes()
	}
	if grown := bytes(strings.Repeat("m", 1000)) - bytes(""); grown < 2_000_000 || grown > 3_000_000 {
		t.Errorf("2,000 occurrences with 1,000 bytes each: %d bytes more", grown)
	}
}

func compareView(t *testing.T, v *view, want []occurrence) {
	t.Helper()
	if v.len() != len(want) {
		t.Fatalf("%d occurrences, want %d", v.len(), len(want))
	}
	for i := range want {
		got := *v.at(i)
		got.textAt, got.at = 0, 0
		if !slices.ContainsFunc(want, func(o occurrence) bool { return o == got }) || got.key() != want[i].key() {
			t.Fatalf("occurrence %d: %.100s, want %.100s", i, fmt.Sprint(got), fmt.Sprint(want[i]))
		}
	}
}

// TestPostIDsCompareAsBytes: reading an id as a number changes neither what it is nor its order.
func TestPostIDsCompareAsBytes(t *testing.T) {
	ids := []string{"", "0", "00", "1", "9", "10", "010", "99", "100", "-1", "1a", "a", "9223372036854775807",
		"9999999999999999999", "18446744073709551615", "18446744073709551616", "１"}
	for _, a := range ids {
		if got := parsePostID(a).String(); got != a {
			t.Errorf("%q is read as %q", a, got)
		}
		for _, b := range ids {
			if got, want := parsePostID(a).compare(parsePostID(b)), strings.Compare(a, b); got != want {
				t.Errorf("%q against %q: %d, want %d", a, b, got, want)
			}
		}
	}
}

// TestSets: what is written of a token set is read back, and compared alike.
func TestSets(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	set := func() (s []uint32) {
		for range r.IntN(20) {
			s = append(s, r.Uint32()>>r.IntN(32))
		}
		slices.Sort(s)
		return slices.Compact(s)
	}
	for range 2000 {
		a, b := set(), set()
		if n := r.IntN(len(a) + 1); n > 0 {
			b = append(b, a[:n]...)
			slices.Sort(b)
			b = slices.Compact(b)
		}
		written, common := appendSet(nil, a), 0
		for _, n := range a {
			common += oneIf(slices.Contains(b, n))
		}
		if got := readSet(nil, written); !slices.Equal(got, a) {
			t.Fatalf("%v is read as %v", a, got)
		}
		if got := overlap(written, b); got != common {
			t.Fatalf("%v and %v: overlap %d, want %d", a, b, got, common)
		}
	}
}

// TestExpectedOrNot: what is expected is answered alike, in whatever batches, with sentences left out, with new
// groups and with some that go meanwhile.
func TestExpectedOrNot(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	expecting := newScanGranular(t, Config{Span: 2 * time.Second, Lateness: 0}, granularity{4, 16, 4})
	plain := newScanGranular(t, Config{Span: 2 * time.Second, Lateness: 0}, granularity{4, 16, 4})
	expecting.searcher.coding.Bounds = boundsOf()
	repeated := 0
	for i := 0; i < 4000; {
		var batch []*feed.Sentence
		for range 1 + r.IntN(40) {
			x := randomSentence(r, i, feed.Time(i*4))
			batch = append(batch, &x)
			i++
		}
		expecting.searcher.Expect(batch)
		for n, x := range batch {
			if r.IntN(5) == 0 {
				continue
			}
			if got, want := lookupPairs(expecting, x), lookupPairs(plain, x); !sameSet(got, want) {
				t.Fatalf("sentence %s: %d repeats when told before, %d when not", x.Post, len(got), len(want))
			} else {
				repeated += len(got)
			}
			expecting.Insert(x)
			plain.Insert(x)
			if n%13 == 0 {
				expecting.Advance(x.Time)
				plain.Advance(x.Time)
			}
		}
	}
	if repeated < 500 {
		t.Errorf("only %d repeats", repeated)
	}
}

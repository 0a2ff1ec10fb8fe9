package sigstore

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"refrain/feed"
	"refrain/hashcodes"
)

// TestHoldersAreOfTheTokens: of every query, whether its tokens have numbers or not, were given those of others, or
// have had other codes.
func TestHoldersAreOfTheTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	w := newScan(t, Config{Span: 100 * time.Millisecond})
	for i := range 3000 {
		if i%500 == 200 {
			m, err := hashcodes.NewMD5([]int{32, 64, 128}[r.IntN(3)], 1+r.IntN(4))
			if err != nil {
				t.Fatal(err)
			}
			w.Recode(Coding{Model: m, Bounds: hashcodes.NewBounds(theta, m.Ones()), Engine: newAllRows})
		}
		w.RecodeSome(5)
		set := map[uint64]bool{}
		for range 1 + r.IntN(12) + r.IntN(2)*r.IntN(90) {
			set[uint64(i/10)+r.Uint64N(200)] = true
		}
		var tokens []uint64
		for id := range set {
			tokens = append(tokens, id)
		}
		slices.Sort(tokens)
		x := sentenceOf(i, feed.Time(i), 0, tokens...)
		_, q := w.searcher.Search(&x)
		m := w.searcher.Model()
		if want := m.Hold(hashcodes.NewHolders(m.Bits()), tokens); !reflect.DeepEqual(q.Holders, want) {
			t.Fatalf("sentence %d, codes of %s: holders %v, want %v", i, m.Name(), q.Holders, want)
		}
		if want := m.Sign(make(hashcodes.Signature, m.Words()), tokens); !slices.Equal(q.Signature, want) {
			t.Fatalf("sentence %d, codes of %s: signature %x, want %x", i, m.Name(), q.Signature, want)
		}
		w.Insert(&x)
		w.Advance(feed.Time(i))
	}
}

// TestMayMatch: with holders what passes them, without what lies within the radius, and nothing of other sizes.
func TestMayMatch(t *testing.T) {
	m, err := hashcodes.New(hashcodes.Description{Bits: 32, Ones: 1, Learner: "test"}, []hashcodes.Entry{
		{Token: 1, Positions: []uint8{1}}, {Token: 2, Positions: []uint8{1}}, {Token: 3, Positions: []uint8{1}},
		{Token: 4, Positions: []uint8{4}}, {Token: 5, Positions: []uint8{5}},
	})
	if err != nil {
		t.Fatal(err)
	}
	tokens := []uint64{1, 2, 3, 4, 5}
	q := Query{Size: 5, Signature: m.Sign(make(hashcodes.Signature, 1), tokens)}
	b := hashcodes.NewBounds(theta, 1).For(5)
	lacks := m.Sign(make(hashcodes.Signature, 1), []uint64{4, 5}) // all of the first three
	for _, c := range []struct {
		size           int
		sig            hashcodes.Signature
		within, passes bool
	}{
		{b.Max, q.Signature, true, true},
		{b.Max, lacks, int(b.Radius[b.Max-b.Min]) >= 1, false},
		{b.Max + 1, q.Signature, false, false},
		{b.Min - 1, q.Signature, false, false},
	} {
		q.Holders = nil
		within := q.MayMatch(b, c.size, c.sig)
		q.Holders = m.Hold(hashcodes.NewHolders(32), tokens)
		if passes := q.MayMatch(b, c.size, c.sig); within != c.within || passes != c.passes {
			t.Errorf("%d tokens, signature %x: within the radius %t, passes %t; want %t, %t", c.size, c.sig, within, passes,
				c.within, c.passes)
		}
	}
}

// TestWhatIsBornMeanwhileIsAsked: of the groups born since the question only those are hits that may match.
func TestWhatIsBornMeanwhileIsAsked(t *testing.T) {
	w := newScan(t, Config{Span: time.Hour, Bounds: boundsOf()})
	first, like, other, last := sentenceOf(0, 0, 0, 1, 2, 3, 4, 5), sentenceOf(1, 1, 0, 1, 2, 3, 4, 5, 6),
		sentenceOf(2, 2, 0, 11, 12, 13, 14, 15), sentenceOf(3, 3, 0, 1, 2, 3, 4, 5, 7)
	w.searcher.Expect([]*feed.Sentence{&first, &like, &other, &last})
	for _, x := range []*feed.Sentence{&first, &like, &other} {
		w.searcher.Search(x)
		w.Insert(x)
	}
	groups, _ := w.searcher.Search(&last)
	if len(groups) != 2 {
		t.Errorf("%d of three groups born since the question are hits, want two", len(groups))
	}
}

// alone is an index that wants its queries one by one.
type alone struct{ Index }

func (alone) Batch() int { return 1 }

// TestExpectedBefore: once the index wants queries one by one, as in a window that has shrunk, those expected before are held no
// longer, nor looked through at each look-up.
func TestExpectedBefore(t *testing.T) {
	w := newScan(t, Config{Span: time.Hour, Bounds: boundsOf()})
	first, last := sentenceOf(0, 0, 0, 1, 2, 3, 4, 5), sentenceOf(1, 1, 0, 1, 2, 3, 4, 5)
	w.searcher.Expect([]*feed.Sentence{&first})
	w.searcher.index = alone{w.searcher.index}
	w.searcher.Expect([]*feed.Sentence{&last})
	if n := len(w.searcher.batch.expected); n > 0 {
		t.Errorf("%d sentences are held", n)
	}
}

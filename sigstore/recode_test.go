package sigstore

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"refrain/feed"
	"refrain/hashcodes"
)

// TestRecodedTokensHaveTheModelsCodes: also those whose numbers were given to others while the codes changed.
func TestRecodedTokensHaveTheModelsCodes(t *testing.T) {
	const span = 100
	to, err := hashcodes.NewMD5(128, 4) // more ones than fit a token
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	w := newScan(t, Config{Span: span * time.Millisecond})
	insert := func(i int) {
		first := uint64(i) * 5
		x := sentenceOf(i, feed.Time(i), 0, first, first+1, first+2, r.Uint64N(10))
		w.Insert(&x)
		w.Advance(feed.Time(i))
	}
	i := 0
	for ; i < 300; i++ {
		insert(i)
	}
	numbers := len(w.groups.tokens.tokens)
	w.Recode(Coding{Model: to, Bounds: hashcodes.NewBounds(theta, 4), Engine: newAllRows})
	for w.RecodeSome(3) {
		insert(i)
		i++
	}
	if w.searcher.Model() != to || i < 310 || len(w.groups.tokens.tokens) > numbers+50 {
		t.Fatalf("codes of %s after %d sentences, %d token numbers of %d: want numbers used again", w.searcher.Model().Name(),
			i, len(w.groups.tokens.tokens), numbers)
	}
	got, want := w.groups.tokens.blank(), w.groups.tokens.blank()
	for n, token := range w.groups.tokens.tokens {
		if token.rows == 0 {
			continue
		}
		clear(got)
		w.groups.tokens.addCode(got, uint32(n))
		if !slices.Equal(got, to.Code(want, token.id)) {
			t.Errorf("token %d has the code %x, want %x", token.id, got, want)
		}
	}
}

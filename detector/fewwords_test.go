package detector_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/internal/oracle"
	"refrain/text"
)

// TestFewWords: sentences of the same few words, so that the lists of the prefix index grow long and are cut in all ways,
// while groups go, move on and come again. All engines find the same.
func TestFewWords(t *testing.T) {
	for _, similar := range []text.Measure{
		text.Jaccard.At(text.Threshold{Num: 4, Den: 5}), text.Cosine.At(text.Threshold{Num: 4, Den: 5}),
	} {
		want := oracle.Sorted(fewWords(t, similar, detector.Scan))
		if len(want) < 5000 {
			t.Errorf("%v: only %d events", similar, len(want))
		}
		for name, engine := range engines {
			t.Run(similar.String()+", "+name, func(t *testing.T) { compare(t, fewWords(t, similar, engine), want) })
		}
	}
}

// fewWords are the events of a feed of which a third is inside the span.
func fewWords(t *testing.T, similar text.Measure, engine detector.Engine) (got []feed.Hash) {
	d, err := detector.NewPartition(detector.Config{
		Similarity: similar.Similarity, Threshold: similar.Threshold, Span: 40 * time.Second, Lateness: time.Second,
		Model: mustModel(t, 64, 1), Engine: engine,
	})
	if err != nil {
		t.Fatal(err)
	}
	all := fewWordsFeed(12_000)
	const batch = 16
	for i := range all {
		if i%batch == 0 {
			d.Expect(pointers(all[i:min(i+batch, len(all))]))
		}
		got = append(got, ids(d.LookupNew(nil, &all[i]))...)
		d.Insert(&all[i])
		d.Advance(all[i].Time)
	}
	return got
}

func pointers(xs []feed.Sentence) (all []*feed.Sentence) {
	for i := range xs {
		all = append(all, &xs[i])
	}
	return all
}

// fewWordsFeed is one sentence each 10 ms: of words by chance, one of before, or one of before but for a word.
func fewWordsFeed(sentences int) (all []feed.Sentence) {
	const words, size, lately = 26, 12, 3000
	r := rand.New(rand.NewPCG(1, 2))
	for i := range sentences {
		var tokens []uint64
		for _, w := range r.Perm(words)[:size-r.IntN(2)] {
			tokens = append(tokens, uint64(w))
		}
		if n := len(all); n > 0 && r.IntN(2) == 0 {
			tokens = append(tokens[:0], all[n-1-r.IntN(min(n, lately))].Tokens...)
			if r.IntN(2) == 0 {
				tokens[r.IntN(len(tokens))] = uint64(r.IntN(words))
			}
		}
		all = append(all, sentence(feed.Time(10*i), strconv.Itoa(i), 0, 0, tokens...))
	}
	return all
}

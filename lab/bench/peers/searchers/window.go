package searchers

import (
	"slices"
	"strconv"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/sigstore"
	"refrain/sigstore/prefix"
	"refrain/text"
)

// Windows are the engines of the window. They answer another question than the columns above, which all rows within a
// radius are: which rows reach a threshold of Jaccard, none left out, each verified. set gives the token ids of a row,
// ascending; queries are the rows that are looked up.
func Windows(t text.Threshold, set func(row int) []uint64, queries []int) (all []Named, err error) {
	model, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		return nil, err
	}
	for _, e := range []struct {
		name   string
		engine detector.Engine
	}{
		{"window, scan engine", detector.Scan},
		{"window, prefix engine", func(b *hashcodes.Bounds, _ *hashcodes.Model) sigstore.Engine { return prefix.New(b) }},
	} {
		d, err := detector.NewPartition(detector.Config{Threshold: t, Span: Forever, Model: model, Engine: e.engine, OmitTexts: true})
		if err != nil {
			return nil, err
		}
		w := &window{Partition: d, set: set}
		for _, row := range queries {
			w.expected = append(w.expected, RowSentence(row, set(row)))
		}
		all = append(all, Named{e.name, "another question: all rows that reach the threshold, none lost, each " +
			"verified; 64-bit signatures, 64 queries at once",
			func([]uint32) Searcher { return w }})
	}
	return all, nil
}

// Forever is a span that lets nothing go.
const Forever = 87600 * time.Hour

// window looks up the sentences of rows. Of signatures it takes only how many there are: it makes its own.
type window struct {
	*detector.Partition
	set      func(row int) []uint64
	expected []*feed.Sentence
	rows     int
	matches  []feed.Match
}

// RowSentence makes a row the sentence of a post of its own, a millisecond after the row before.
func RowSentence(row int, set []uint64) *feed.Sentence {
	return &feed.Sentence{
		Source: "bench", Post: strconv.Itoa(row), Time: firstTime + feed.Time(row), Tokens: set,
		Group: feed.GroupHash(set), Coverage: 1,
	}
}

// firstTime is 2026-01-01.
const firstTime = 1_767_225_600_000

func (w *window) Add(signatures []uint32) {
	for range signatures {
		w.Insert(RowSentence(w.rows, w.set(w.rows)))
		w.rows++
	}
}

// Search counts the matches; a sentence does not match itself.
func (w *window) Search([]uint32, int) (hits int) {
	for batch := range slices.Chunk(w.expected, 64) {
		w.Expect(batch)
		for _, x := range batch {
			w.matches = w.Lookup(w.matches[:0], x)
			hits += len(w.matches)
		}
	}
	return hits
}

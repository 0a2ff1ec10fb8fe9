package main

import (
	"refrain/detector"
	"refrain/feed"
	"refrain/lab/bench/peers/searchers"
	"refrain/text"
)

// windowBatch is how many rows are looked up at once, as in detect.
const windowBatch = 64

// window is the product: a window, whose matches name groups. Which rows a group has is noted beside it, and that is
// timed and counted with it.
type window struct {
	*detector.Partition
	rows   map[feed.Hash][]uint32
	batch  []*feed.Sentence
	copies int // matches of a row with its own group, for which nothing is compared
}

func openPrefix(t text.Threshold, _ []uint64, _ int) (engine, error) {
	return openWindow(t, detector.Prefix)
}

func openScan(t text.Threshold, _ []uint64, _ int) (engine, error) {
	return openWindow(t, detector.Scan)
}

func openWindow(t text.Threshold, e detector.Engine) (engine, error) {
	cfg := detector.Default()
	cfg.Threshold, cfg.Engine, cfg.Span, cfg.OmitTexts = t, e, searchers.Forever, true
	d, err := detector.NewPartition(cfg)
	return &window{Partition: d, rows: map[feed.Hash][]uint32{}}, err
}

// Match is engine's.
func (w *window) Match(pairs []uint32, b *block) []uint32 {
	for first := 0; first < b.rows(); first += windowBatch {
		w.batch = w.batch[:0]
		for i := first; i < min(first+windowBatch, b.rows()); i++ {
			w.batch = append(w.batch, searchers.RowSentence(b.first+i, b.set(i)))
		}
		w.Expect(w.batch)
		for i, x := range w.batch {
			pairs = w.next(pairs, uint32(b.first+first+i), x)
		}
	}
	return pairs
}

// next looks a row up and takes it in.
func (w *window) next(pairs []uint32, row uint32, x *feed.Sentence) []uint32 {
	w.EachNewMatch(x, func(m *feed.Match) {
		if m.Group == x.Group {
			w.copies++
		}
		for _, earlier := range w.rows[m.Group] {
			pairs = append(pairs, row, earlier)
		}
	})
	w.Insert(x)
	w.rows[x.Group] = append(w.rows[x.Group], row)
	return pairs
}

// Candidates is engine's: of groups, however many rows they have.
func (w *window) Candidates() int { return int(w.Counts().Candidates) + w.copies }

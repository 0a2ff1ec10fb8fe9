package backfill

import (
	"sync"

	"refrain/detector"
	"refrain/feed"
)

// window is the window of a pass: one cell or several, served side by side, each with a part of all groups.
type window struct {
	cells     []*detector.Partition
	first, of int // cell i has the groups of partition first + i of so many
	batch     []*feed.Sentence
	byCell    [][][]feed.Match // by cell and sentence, of several
}

func newWindow(cfg *Config, column int) (*window, error) {
	w := &window{first: column * cfg.Partitions, of: cfg.Columns * cfg.Partitions, byCell: make([][][]feed.Match, cfg.Partitions)}
	one := cfg.Window
	one.Budget /= int64(cfg.Partitions * cfg.slicesAtOnce())
	for range cfg.Partitions {
		p, err := detector.NewPartition(one)
		if err != nil {
			w.release()
			return nil, err
		}
		w.cells = append(w.cells, p)
	}
	return w, nil
}

// release says that the window has gone, to whoever has given its cells a GPU.
func (w *window) release() {
	for _, cell := range w.cells {
		cell.Release()
	}
}

// owns reports whether a cell has the group of x.
func (w *window) owns(cell int, x *feed.Sentence) bool {
	return w.of == 1 || x.Group.Partition(w.of) == w.first+cell
}

// insert takes sentences in without looking them up.
func (w *window) insert(sentences []feed.Sentence) {
	w.each(func(cell int) {
		for i := range sentences {
			if w.owns(cell, &sentences[i]) {
				w.cells[cell].Insert(&sentences[i])
			}
		}
	})
}

// detect looks each sentence up, takes it in, and appends its matches to dst. Of each it visits those, which may be sorted, and are
// left out if keep says so.
func (w *window) detect(dst []feed.Match, sentences []feed.Sentence, keep func([]feed.Match) bool) []feed.Match {
	w.batch = w.batch[:0]
	for i := range sentences {
		w.batch = append(w.batch, &sentences[i])
	}
	find := w.finder()
	for i := range w.batch {
		before := len(dst)
		dst = find(dst, i)
		if !keep(dst[before:]) {
			dst = dst[:before]
		}
	}
	return dst
}

// finder is what appends the matches of sentence i of the batch, to be called once for each, in order.
func (w *window) finder() func(dst []feed.Match, i int) []feed.Match {
	if len(w.cells) == 1 {
		w.cells[0].Expect(w.batch)
		return func(dst []feed.Match, i int) []feed.Match { return w.lookUp(dst, 0, w.batch[i]) }
	}
	w.each(w.lookUpAll)
	return func(dst []feed.Match, i int) []feed.Match {
		for _, found := range w.byCell {
			dst = append(dst, found[i]...)
		}
		return dst
	}
}

// lookUpAll looks the batch up in one of several cells.
func (w *window) lookUpAll(cell int) {
	found := w.byCell[cell][:0]
	w.cells[cell].Expect(w.batch)
	for _, x := range w.batch {
		found = append(found, w.lookUp(nil, cell, x))
	}
	w.byCell[cell] = found
}

// lookUp appends the matches of x in a cell, and takes it in.
func (w *window) lookUp(dst []feed.Match, cell int, x *feed.Sentence) []feed.Match {
	dst = w.cells[cell].LookupNew(dst, x)
	if w.owns(cell, x) {
		w.cells[cell].Insert(x)
	}
	return dst
}

// each calls f for every cell, side by side where they are several.
func (w *window) each(f func(cell int)) {
	if len(w.cells) == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	for cell := range w.cells {
		wg.Go(func() { f(cell) })
	}
	wg.Wait()
}

// advance moves the clock of all cells on, and returns the bytes that they hold.
func (w *window) advance(to feed.Time) int64 {
	w.each(func(cell int) { w.cells[cell].Advance(to) })
	return detector.Total(w.cells).Bytes
}

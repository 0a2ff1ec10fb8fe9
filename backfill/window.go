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
			return nil, err
		}
		w.cells = append(w.cells, p)
	}
	return w, nil
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

// detect looks each sentence up, takes it in, and visits its matches.
func (w *window) detect(sentences []feed.Sentence, visit func(i int, matches []feed.Match)) {
	w.batch = w.batch[:0]
	for i := range sentences {
		w.batch = append(w.batch, &sentences[i])
	}
	w.each(func(cell int) { w.byCell[cell] = w.lookUp(cell, w.byCell[cell][:0]) })
	for i := range w.batch {
		all := w.byCell[0][i]
		for _, more := range w.byCell[1:] {
			all = append(all, more[i]...)
		}
		visit(i, all)
	}
}

func (w *window) lookUp(cell int, found [][]feed.Match) [][]feed.Match {
	p := w.cells[cell]
	p.Expect(w.batch)
	for _, x := range w.batch {
		found = append(found, p.LookupNew(nil, x))
		if w.owns(cell, x) {
			p.Insert(x)
		}
	}
	return found
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

package kafka

import "sync"

// window is how far one partition is done. Batches are opened in the order of their offsets and acknowledged in any; done
// moves over the oldest ones without a gap, and only done is ever committed. It is safe for concurrent use.
type window struct {
	mu     sync.Mutex
	done   int64   // everything below is acknowledged, or nothing to acknowledge; negative: unknown
	open   []*span // handed on in this era, oldest first
	era    int     // rises when a batch fails or the log changes: what was opened before is void
	failed bool
	stored int64 // done as last committed
}

// span is one batch on its way: the offsets up to next.
type span struct {
	era   int
	next  int64
	acked bool
}

// newWindow begins at the committed offset, or at a negative one: there is none.
func newWindow(committed int64) *window { return &window{done: committed, stored: committed} }

// hand notes that a batch is handed on, which ends below next. It returns nil after a failure, until rereadFrom has told
// the reader where to read on: what it holds now lies behind a gap.
func (w *window) hand(next int64) *span {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed {
		return nil
	}
	s := &span{era: w.era, next: next}
	w.open = append(w.open, s)
	return s
}

// skip notes that there is nothing to hand on below next; false, like nil from hand.
func (w *window) skip(next int64) bool {
	s := w.hand(next)
	if s != nil {
		w.acknowledge(s, nil)
	}
	return s != nil
}

// acknowledge marks a batch as done. One that failed voids all batches behind it: the posts are to be read again.
func (w *window) acknowledge(s *span, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.era != w.era {
		return
	}
	if err != nil {
		w.restart(w.done)
		w.failed = true
		return
	}
	s.acked = true
	for len(w.open) > 0 && w.open[0].acked {
		w.done, w.open = w.open[0].next, w.open[1:]
	}
}

// reset begins again at an offset, lower or higher.
func (w *window) reset(to int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restart(to)
}

func (w *window) restart(at int64) {
	w.done, w.open, w.failed = at, nil, false
	w.era++
}

// rereadFrom returns where to read on after a failure, once.
func (w *window) rereadFrom() (at int64, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	failed, w.failed = w.failed, false
	return w.done, failed
}

// broken reports a failure that rereadFrom has not returned yet.
func (w *window) broken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// uncommitted returns what may be committed, and whether it differs from what has been.
func (w *window) uncommitted() (at int64, changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done, w.done >= 0 && w.done != w.stored
}

func (w *window) committed(at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stored = at
}

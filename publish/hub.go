package publish

import (
	"context"
	"errors"
	"slices"
	"sync"

	"refrain/topic"
)

// hub reads the end of the event topic once for all streams that have got so far, and holds the latest records for
// them, at most maxBytes. It runs while there are streams.
//
// All methods may be called by several goroutines.
type hub struct {
	maxBytes int64
	running  sync.WaitGroup
	streams  int // that use it; guarded by Events.mu
	cancel   func()

	mu      sync.Mutex
	from    offsets // everything from here on is in records, or will be
	records []topic.Record
	first   int64 // number of the first of them, counted since the hub began
	bytes   int64
	err     error         // why there will be no more
	arrival chan struct{} // closed when something has changed
}

// errBehind says that a stream has to read for itself what the hub does not hold any more.
var errBehind = errors.New("behind what is held")

// openHub begins at the end of the topic.
func openHub(ctx context.Context, t topic.Topic, maxBytes int64) (*hub, error) {
	_, end, err := t.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	h := &hub{maxBytes: maxBytes, from: offsetsIn(t, end), arrival: make(chan struct{})}
	reader, err := t.Open(ctx, slices.Clone(end)) // there is one, and all wait for it
	if err != nil {
		return nil, err
	}
	run, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.running.Go(func() { h.run(run, reader) })
	return h, nil
}

// close ends the hub and waits for it.
func (h *hub) close() {
	h.cancel()
	h.running.Wait()
}

func (h *hub) run(ctx context.Context, reader topic.Reader) {
	defer reader.Close()
	for {
		records, err := reader.Fetch(ctx)
		var gap *topic.ErrTruncated
		if err != nil && !errors.As(err, &gap) {
			h.change(func() { h.err = err })
			return
		}
		h.change(func() { h.add(records, gap) })
	}
}

// change wakes the streams that wait.
func (h *hub) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	close(h.arrival)
	h.arrival = make(chan struct{})
}

// add holds further records, and lets the oldest go. After a gap nothing before it is held: the streams read it for
// themselves, and are told.
func (h *hub) add(records []topic.Record, gap *topic.ErrTruncated) {
	if gap != nil {
		h.drop(len(h.records))
		h.from.skip(gap)
		h.first++ // also who has read everything looks again whether it is behind
	}
	h.records = append(h.records, records...)
	for i := range records {
		h.bytes += recordBytes(&records[i])
	}
	n, bytes := 0, h.bytes
	for ; n < len(h.records) && bytes > h.maxBytes; n++ {
		bytes -= recordBytes(&h.records[n])
	}
	h.drop(n)
}

// drop lets the first n records go.
func (h *hub) drop(n int) {
	for i := range h.records[:n] {
		r := &h.records[i]
		h.from.read(r.Partition, r.Position)
		h.bytes -= recordBytes(r)
	}
	h.first += int64(n)
	clear(h.records[:n]) // their data goes; the array does as soon as append needs a larger one
	h.records = h.records[n:]
}

func recordBytes(r *topic.Record) int64 { return int64(len(r.Data)) + recordOverhead }

// recordOverhead is about what a record takes besides its data.
const recordOverhead = 128

func (h *hub) failed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err != nil
}

// covers reports whether a stream at p gets everything that is behind p from here.
func (h *hub) covers(p *offsets) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holds(p)
}

func (h *hub) holds(p *offsets) bool {
	for i, from := range h.from.next {
		if p.next[i] < from {
			return false
		}
	}
	return true
}

// next waits for records behind p and returns some, pieceBytes or a single larger one, and the number to ask for then;
// the first is -1.
func (h *hub) next(ctx context.Context, p *offsets, number int64) ([]topic.Record, int64, error) {
	for {
		records, behind, arrival, err := h.piece(p, number)
		number = behind
		if err != nil || len(records) > 0 {
			return records, number, err
		}
		select {
		case <-arrival:
		case <-ctx.Done():
			return nil, number, ctx.Err()
		}
	}
}

// piece is next without waiting; arrival is closed when there may be more.
func (h *hub) piece(p *offsets, number int64) (records []topic.Record, next int64, arrival <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if number < h.first {
		if !h.holds(p) {
			return nil, -1, nil, errBehind
		}
		number = h.first
	}
	bytes := int64(0)
	for i := number - h.first; i < int64(len(h.records)) && bytes < pieceBytes; i++ {
		r := &h.records[i]
		number++
		if r.Position < p.next[r.Partition] {
			continue
		}
		records = append(records, *r)
		bytes += recordBytes(r)
	}
	if len(records) == 0 && h.err != nil {
		err = h.err
	}
	return records, number, h.arrival, err
}

// Narrow is a topic whose readers can be told to read little ahead.
type Narrow interface {
	OpenNarrow(ctx context.Context, from []int64) (topic.Reader, error)
}

func openNarrow(ctx context.Context, t topic.Topic, from []int64) (topic.Reader, error) {
	if n, ok := t.(Narrow); ok {
		return n.OpenNarrow(ctx, from)
	}
	return t.Open(ctx, from)
}

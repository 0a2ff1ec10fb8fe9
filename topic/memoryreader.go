package topic

import (
	"context"
	"sync"
)

// MemoryReader reads a Memory topic. In an ordered topic it hands out records by position; otherwise it takes the
// partitions in turn, so that a long one does not starve the others.
type MemoryReader struct {
	topic *Memory
	from  []int64 // next position of each partition, negative: not read
	turn  int     // the partition to begin with

	once   sync.Once
	closed chan struct{}
}

var _ Reader = (*MemoryReader)(nil)

// Fetch implements Reader. It returns what is there even when ctx has ended: a wait of a millisecond may be over before it
// begins.
func (r *MemoryReader) Fetch(ctx context.Context) ([]Record, error) {
	for {
		// The channel is taken before looking: an Append in between closes this very one.
		arrival := r.topic.arrivals()
		records, err := r.TryFetch(r.topic.cfg.MaxFetch)
		if err != nil || len(records) > 0 {
			return records, err
		}
		select {
		case <-arrival:
		case <-r.closed:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// TryFetch returns at most limit records and does not wait: none, and no error, when there is nothing new.
func (r *MemoryReader) TryFetch(limit int) ([]Record, error) {
	select {
	case <-r.closed:
		return nil, ErrClosed
	default:
	}
	m := r.topic
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := r.truncated(); err != nil {
		return nil, err
	}
	if m.cfg.Ordered {
		return r.byPosition(limit), nil
	}
	return r.inTurn(limit), nil
}

// Close implements Reader.
func (r *MemoryReader) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}

func (m *Memory) arrivals() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.arrival
}

// truncated reports the first partition whose next records were dropped, and steps over the gap.
func (r *MemoryReader) truncated() error {
	for i, from := range r.from {
		p := &r.topic.parts[i]
		if from < 0 || from >= p.removed {
			continue
		}
		start, _ := p.bounds()
		r.from[i] = p.removed
		return &ErrTruncated{Partition: i, From: from, Start: start}
	}
	return nil
}

// byPosition merges the partitions by position.
func (r *MemoryReader) byPosition(limit int) []Record {
	var out []Record
	for len(out) < limit {
		lowest := -1
		var next Record
		for i := range r.from {
			if x, ok := r.peek(i); ok && (lowest < 0 || x.Position < next.Position) {
				lowest, next = i, x
			}
		}
		if lowest < 0 {
			return out
		}
		out = append(out, next)
		r.from[lowest] = next.Position + 1
	}
	return out
}

func (r *MemoryReader) peek(partition int) (Record, bool) {
	if r.from[partition] < 0 {
		return Record{}, false
	}
	p := &r.topic.parts[partition]
	i := p.search(r.from[partition])
	if i == len(p.records) {
		return Record{}, false
	}
	return p.records[i], true
}

// inTurn takes what one partition has, then the next one's; the next call begins with another partition.
func (r *MemoryReader) inTurn(limit int) []Record {
	var out []Record
	for i := range r.from {
		q := (r.turn + i) % len(r.from)
		out = append(out, r.read(q, limit-len(out))...)
	}
	if len(out) > 0 {
		r.turn = (r.turn + 1) % len(r.from)
	}
	return out
}

func (r *MemoryReader) read(partition, limit int) []Record {
	if r.from[partition] < 0 || limit <= 0 {
		return nil
	}
	p := &r.topic.parts[partition]
	i := p.search(r.from[partition])
	records := p.records[i:min(i+limit, len(p.records))]
	if n := len(records); n > 0 {
		r.from[partition] = records[n-1].Position + 1
	}
	return records
}

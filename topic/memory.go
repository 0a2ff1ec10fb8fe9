package topic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"refrain/internal/check"
)

// MemoryConfig says what kind of topic NewMemory makes.
type MemoryConfig struct {
	Partitions int              // 1 or more
	Ordered    bool             // one sequence of positions over all partitions, as in JetStream
	Now        func() time.Time // the clock of the stamps
	MaxFetch   int              // most records of one Fetch; 1 or more
}

// DefaultMemory is one partition.
func DefaultMemory() MemoryConfig {
	return MemoryConfig{Partitions: 1, Now: time.Now, MaxFetch: 256}
}

func (c *MemoryConfig) validate() error {
	return errors.Join(check.AtLeast(1, "partitions", c.Partitions), check.Set("now", c.Now != nil),
		check.AtLeast(1, "max fetch", c.MaxFetch))
}

// Memory is a topic inside one process: durable as long as the process is. Used by a single goroutine it is
// deterministic: no goroutines, no randomness, no clock but Now.
type Memory struct {
	cfg MemoryConfig

	mu      sync.Mutex
	next    int64 // the next shared position, when ordered
	parts   []memoryPartition
	arrival chan struct{} // closed and replaced by every Append: wakes the readers
	lineage Lineage
}

var (
	_ Topic  = (*Memory)(nil)
	_ Purger = (*Memory)(nil)
)

// memoryPartition keeps the records at positions from removed on, in rising order.
type memoryPartition struct {
	records []Record
	removed int64 // every record below this position was dropped by Truncate
	next    int64 // position after the newest record ever appended
}

// NewMemory returns an empty topic. It panics when it is asked for one that cannot be.
func NewMemory(cfg MemoryConfig) *Memory {
	if err := cfg.validate(); err != nil {
		panic(fmt.Errorf("topic in memory: %w", err))
	}
	return &Memory{
		cfg: cfg, parts: make([]memoryPartition, cfg.Partitions), arrival: make(chan struct{}),
		lineage: Lineage{{From: make([]int64, cfg.Partitions)}},
	}
}

// Partitions implements Topic.
func (m *Memory) Partitions() int { return m.cfg.Partitions }

// Ordered implements Topic.
func (m *Memory) Ordered() bool { return m.cfg.Ordered }

// Append implements Topic: all records or, on an error, none. It copies the records, not their data.
func (m *Memory) Append(ctx context.Context, records []Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := CheckPartitions(records, m.cfg.Partitions); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	if len(records) == 0 {
		return nil
	}
	now := m.cfg.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range records {
		if r.Time.IsZero() {
			r.Time = now
		}
		m.add(r)
	}
	close(m.arrival)
	m.arrival = make(chan struct{})
	return nil
}

func (m *Memory) add(r Record) {
	p := &m.parts[r.Partition]
	r.Time = r.Time.Round(0).UTC()
	r.Position = p.next
	if m.cfg.Ordered {
		r.Position = m.next
	}
	m.next++
	p.next = r.Position + 1
	p.records = append(p.records, r)
}

// Bounds implements Topic.
func (m *Memory) Bounds(ctx context.Context) (start, end []int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	start, end = make([]int64, len(m.parts)), make([]int64, len(m.parts))
	for i := range m.parts {
		start[i], end[i] = m.parts[i].bounds()
	}
	return start, end, nil
}

func (p *memoryPartition) bounds() (start, end int64) {
	if len(p.records) == 0 {
		return p.next, p.next
	}
	return p.records[0].Position, p.next
}

// Truncate drops the records of a partition below a position, as retention does. Readers that still had to be
// given one of them get an *ErrTruncated.
func (m *Memory) Truncate(partition int, before int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &m.parts[partition]
	n := p.search(before)
	if n == 0 {
		return
	}
	p.removed = p.records[n-1].Position + 1
	p.records = slices.Clone(p.records[n:])
}

// Cut drops the records of each partition from a position on, as a power cut does, and begins another incarnation.
// Nobody may be reading. Where all partitions share one order, the least position counts for all.
func (m *Memory) Cut(ends []int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	from := slices.Clone(ends)
	if m.cfg.Ordered {
		m.next = min(m.next, slices.Min(ends))
		from = slices.Repeat([]int64{m.next}, len(ends))
	}
	for i := range m.parts {
		p := &m.parts[i]
		p.next = min(p.next, from[i])
		p.records = slices.Clone(p.records[:p.search(p.next)])
		if !m.cfg.Ordered {
			from[i] = p.next
		}
	}
	m.lineage = append(slices.Clone(m.lineage), Incarnation{ID: fmt.Sprintf("m%d", len(m.lineage)), From: from})
}

// Lineage implements Topic. The first incarnation has no name.
func (m *Memory) Lineage() Lineage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lineage
}

// Purge implements Purger.
func (m *Memory) Purge(_ context.Context, before []int64) error {
	for p, position := range before {
		m.Truncate(p, position)
	}
	return nil
}

// Expire drops the records stamped before t, as retention does: see Truncate.
func (m *Memory) Expire(t time.Time) {
	for p := range m.parts {
		m.mu.Lock()
		before := m.parts[p].next
		if i := slices.IndexFunc(m.parts[p].records, func(r Record) bool { return !r.Time.Before(t) }); i >= 0 {
			before = m.parts[p].records[i].Position
		}
		m.mu.Unlock()
		m.Truncate(p, before)
	}
}

// search returns the index of the first record at or above a position.
func (p *memoryPartition) search(position int64) int {
	return sort.Search(len(p.records), func(i int) bool { return p.records[i].Position >= position })
}

// Open implements Topic.
func (m *Memory) Open(ctx context.Context, from []int64) (Reader, error) {
	return m.OpenMemory(ctx, from)
}

// OpenMemory is Open with the concrete type, for those who want TryFetch.
func (m *Memory) OpenMemory(ctx context.Context, from []int64) (*MemoryReader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := CheckFrom(from, m.cfg.Partitions); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if err := m.checkEnd(from); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	return &MemoryReader{topic: m, from: slices.Clone(from), closed: make(chan struct{})}, nil
}

func (m *Memory) checkEnd(from []int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, f := range from {
		end := m.parts[i].next
		if m.cfg.Ordered {
			end = m.next
		}
		if f > end {
			return fmt.Errorf("partition %d: %w: from %d, end %d", i, ErrBeyondEnd, f, end)
		}
	}
	return nil
}

package lookup

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"refrain/feed"
	"refrain/topic"
)

// Tail keeps the latest events of a topic in memory. Run fills it; Latest may be called meanwhile.
type Tail struct {
	topic topic.Topic
	size  int

	mu   sync.Mutex
	ring []feed.Match // oldest first, at most size
}

var _ Recent = (*Tail)(nil)

// NewTail keeps the last size events of t.
func NewTail(t topic.Topic, size int) *Tail { return &Tail{topic: t, size: size} }

// Latest returns up to n events, the newest first.
func (t *Tail) Latest(n int) []feed.Match {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(t.ring[max(0, len(t.ring)-n):])
	slices.Reverse(out)
	return out
}

// Run follows the topic, beginning with the last few events kept, until ctx ends; then it returns nil.
func (t *Tail) Run(ctx context.Context) error {
	err := t.run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (t *Tail) run(ctx context.Context) error {
	start, end, err := t.topic.Bounds(ctx)
	if err != nil {
		return err
	}
	for p := range start {
		start[p] = max(start[p], end[p]-int64(t.size))
	}
	reader, err := t.topic.Open(ctx, start)
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		records, err := reader.Fetch(ctx)
		var gap *topic.ErrTruncated
		if err != nil && !errors.As(err, &gap) { // a gap only means that the page begins later
			return err
		}
		t.add(records)
	}
}

func (t *Tail) add(records []topic.Record) {
	matches := make([]feed.Match, 0, len(records))
	for _, r := range records {
		m, err := feed.DecodeEvent(r.Data)
		if err != nil {
			slog.Warn("page of events: unreadable record left out", "position", r.Position, "error", err)
			continue
		}
		matches = append(matches, m)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ring = append(t.ring, matches...)
	t.ring = slices.Clone(t.ring[max(0, len(t.ring)-t.size):])
}

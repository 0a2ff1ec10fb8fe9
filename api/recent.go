package api

import (
	"context"
	"encoding/json"
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
	ring [][]byte // the events as they are, oldest first, at most size: most are never looked at
}

var _ Recent = (*Tail)(nil)

// NewTail keeps the last size events of t.
func NewTail(t topic.Topic, size int) *Tail { return &Tail{topic: t, size: size} }

// Latest returns up to n events, the newest first.
func (t *Tail) Latest(n int) []feed.Match {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []feed.Match
	for i := len(t.ring) - 1; i >= 0 && len(out) < n; i-- {
		m, err := feed.DecodeEvent(t.ring[i])
		if err != nil {
			slog.Warn("page of events: unreadable event left out", "error", err)
			continue
		}
		out = append(out, m)
	}
	return out
}

// sparse is how many positions a record may take: 32 in a packed topic of single ones (topic/jetstream).
const sparse = 32

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
		start[p] = max(start[p], end[p]-sparse*int64(t.size))
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
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range records {
		t.apply(r.Data)
	}
	t.ring = slices.Clone(t.ring[max(0, len(t.ring)-t.size):])
}

// apply takes in one event: a match is kept, a retraction takes away what shows the post, or the author,
// others are not ours.
func (t *Tail) apply(data []byte) {
	if feed.IsReuse(data) {
		t.ring = append(t.ring, data)
		return
	}
	var e struct {
		Type string
		Data feed.Name
	}
	err := json.Unmarshal(data, &e)
	switch {
	case err != nil:
		slog.Warn("page of events: unreadable event left out", "error", err)
	case e.Type == feed.ReuseType:
		t.ring = append(t.ring, data)
	case e.Type == feed.RetractedType:
		t.ring = slices.DeleteFunc(t.ring, func(b []byte) bool {
			m, err := feed.DecodeEvent(b)
			return err == nil && shows(&m, e.Data)
		})
	}
}

// shows reports whether m shows anything of a post, or, where that is named instead, of an author.
func shows(m *feed.Match, gone feed.Name) bool {
	return slices.ContainsFunc([]feed.Name{m.Later.Name(), m.Earlier.Name(), m.First.Name()}, func(n feed.Name) bool {
		if gone.Author != "" {
			return n.Source == gone.Source && n.Author == gone.Author
		}
		return n.Source == gone.Source && n.Post == gone.Post
	})
}

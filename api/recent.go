package api

import (
	"bytes"
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
	ring []recent // oldest first, at most size and maxTail bytes
}

// recent is an event as it is: most are never looked at. What it shows is read once, at the first retraction that
// comes after it, and not at each: whoever deletes a thousand posts a second would have all events read a thousand times.
type recent struct {
	data  []byte
	shows *[3]feed.Name // later, earlier and first; nil: not read yet
}

// maxTail bounds the bytes of the events that a Tail keeps: 500 usual ones are a sixteenth of it.
const maxTail = 8 << 20

var _ Recent = (*Tail)(nil)

// NewTail keeps the last size events of t.
func NewTail(t topic.Topic, size int) *Tail { return &Tail{topic: t, size: size} }

// Latest returns up to n events, the newest first.
func (t *Tail) Latest(n int) []feed.Match {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []feed.Match
	for i := len(t.ring) - 1; i >= 0 && len(out) < n; i-- {
		m, err := feed.DecodeEvent(t.ring[i].data)
		if err != nil {
			slog.Warn("page of events: unreadable event left out", "error", err)
			continue
		}
		out = append(out, m)
	}
	return out
}

// maxRecordPositions is how many positions a record takes at most: in a packed topic whose records came one by one
// (topic/jetstream).
const maxRecordPositions = 32

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
		start[p] = max(start[p], end[p]-maxRecordPositions*int64(t.size))
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
	t.trim()
}

// trim drops the oldest events beyond size and maxTail.
func (t *Tail) trim() {
	n := max(0, len(t.ring)-t.size)
	size := 0
	for i := len(t.ring) - 1; i >= n; i-- {
		if size += len(t.ring[i].data); size > maxTail {
			n = i + 1
		}
	}
	t.ring = slices.Clone(t.ring[n:])
}

// apply takes in one event: a match is kept, a retraction takes away what shows the post, or the author,
// others are not ours.
func (t *Tail) apply(data []byte) {
	if feed.IsReuse(data) {
		t.push(data)
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
		t.push(data)
	case e.Type == feed.RetractedType:
		t.remove(e.Data)
	}
}

// push adds an event; data may be a part of a larger message.
func (t *Tail) push(data []byte) { t.ring = append(t.ring, recent{data: bytes.Clone(data)}) }

// remove removes the events that show anything of a post, or, where that is named instead, of an author.
func (t *Tail) remove(deleted feed.Name) {
	for i := range t.ring {
		t.ring[i].read()
	}
	t.ring = slices.DeleteFunc(t.ring, func(r recent) bool {
		return slices.ContainsFunc(r.shows[:], func(n feed.Name) bool {
			if deleted.Author != "" {
				return n.Source == deleted.Source && n.Author == deleted.Author
			}
			return n.Source == deleted.Source && n.Post == deleted.Post
		})
	})
}

// read finds out what the event shows: nothing, if it cannot be read.
func (r *recent) read() {
	if r.shows != nil {
		return
	}
	r.shows = &[3]feed.Name{}
	if m, err := feed.DecodeEvent(r.data); err == nil {
		*r.shows = [3]feed.Name{m.Later.Name(), m.Earlier.Name(), m.First.Name()}
	}
}

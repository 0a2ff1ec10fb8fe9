package shard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/zeebo/xxh3"

	"refrain/feed"
	"refrain/topic"
)

// deletions are the posts that were deleted, read from the control topic: to its end before any row is rebuilt, and
// then as it grows. They are kept as long as the topics can still hold the post.
type deletions struct {
	control topic.Topic // nil: there are none
	reader  topic.Reader
	next    int64                      // position in the control topic
	corrupt func(*topic.Record, error) // is told of a record that is left out

	mu    sync.RWMutex // guards posts against Deleted; the worker's goroutine alone changes it
	posts map[feed.Tombstone]time.Time
}

// deletion is one tombstone that was read.
type deletion struct {
	feed.Tombstone
	position int64
	time     time.Time
}

func newDeletions(control topic.Topic) *deletions {
	return &deletions{control: control, corrupt: func(*topic.Record, error) {}, posts: map[feed.Tombstone]time.Time{}}
}

func (d *deletions) has(s *feed.Sentence) bool {
	if len(d.posts) == 0 {
		return false
	}
	_, ok := d.posts[feed.Tombstone{Source: s.Source, Post: s.Post}]
	return ok
}

// read takes in what the control topic holds now and returns it.
func (d *deletions) read(ctx context.Context) ([]deletion, error) {
	if d.control == nil {
		return nil, nil
	}
	start, end, err := d.control.Bounds(ctx)
	if err != nil {
		return nil, fmt.Errorf("control topic: %w", err)
	}
	d.next = max(d.next, start[0])
	var all []deletion
	for d.next < end[0] {
		records, err := d.fetch(ctx)
		if err != nil {
			d.close()
			return all, fmt.Errorf("control topic: %w", err)
		}
		for i := range records {
			more, err := d.take(&records[i])
			if errors.Is(err, topic.ErrTombstonesCorrupt) { // it stays so however often it is read
				d.corrupt(&records[i], err)
				d.next = records[i].Position + 1
			} else if err != nil {
				return all, err
			}
			all = append(all, more...)
		}
	}
	return all, nil
}

func (d *deletions) fetch(ctx context.Context) ([]topic.Record, error) {
	if d.reader == nil {
		from := make([]int64, d.control.Partitions())
		for p := range from {
			from[p] = -1
		}
		from[0] = d.next
		r, err := d.control.Open(ctx, from)
		if err != nil {
			return nil, err
		}
		d.reader = r
	}
	records, err := d.reader.Fetch(ctx)
	var gone *topic.ErrTruncated
	if errors.As(err, &gone) { // tombstones go only after the posts they speak of
		d.next = max(d.next, gone.Start)
		return nil, nil
	}
	return records, err
}

func (d *deletions) take(r *topic.Record) ([]deletion, error) {
	tombstones, err := topic.DecodeTombstones(r.Data)
	if err != nil {
		return nil, fmt.Errorf("control topic: position %d: %w", r.Position, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]deletion, len(tombstones))
	for i, t := range tombstones {
		d.posts[t] = r.Time
		out[i] = deletion{t, r.Position, r.Time}
	}
	d.next = r.Position + 1
	return out, nil
}

// skipControl is loud about a control record that cannot be read: whatever it deleted is not.
func (w *Worker) skipControl(r *topic.Record, err error) {
	w.cfg.Logger.Error("unreadable control record left out: the posts that it deleted may be shown again; delete again what was deleted then",
		"position", r.Position, "time", r.Time, "error", err)
	w.metrics.corruptControl()
}

// forget drops tombstones of posts that no topic holds any more.
func (d *deletions) forget(before time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for t, at := range d.posts {
		if at.Before(before) {
			delete(d.posts, t)
		}
	}
}

func (d *deletions) close() {
	if d.reader != nil {
		d.reader.Close()
		d.reader = nil
	}
}

// AppendRetraction appends the CloudEvent that says that a post was deleted at t. Its id is the xxh3-128 of the word
// "retracted", the source and the post id, each as an unsigned varint length and its bytes: the same however often
// it is said.
func AppendRetraction(dst []byte, d feed.Tombstone, t feed.Time, deployment string) []byte {
	dst = append(dst, `{"specversion":"1.0","type":"`+feed.RetractedType+`","source":`...)
	dst = quote(dst, deployment)
	dst = append(dst, `,"id":"`...)
	dst = append(dst, retractionID(d).String()...)
	dst = append(dst, `","time":"`...)
	dst = append(dst, t.String()...)
	dst = append(dst, `","subject":`...)
	dst = quote(dst, d.Post)
	dst = append(dst, `,"partitionkey":`...)
	dst = quote(dst, d.Post)
	dst = append(dst, `,"datacontenttype":"application/json","data":{"source":`...)
	dst = quote(dst, d.Source)
	dst = append(dst, `,"post":`...)
	dst = quote(dst, d.Post)
	return append(dst, `}}`...)
}

// quote replaces bytes that are not UTF-8, which AppendQuote also reports as an error.
func quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

func retractionID(d feed.Tombstone) feed.Hash {
	var b []byte
	for _, s := range []string{"retracted", d.Source, d.Post} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return xxh3.Hash128(b).Bytes()
}

// Deleted reports whether a post was deleted, as far as this worker has read the control topic. Any goroutine may
// ask.
func (w *Worker) Deleted(source, post string) bool {
	w.deleted.mu.RLock()
	defer w.deleted.mu.RUnlock()
	_, ok := w.deleted.posts[feed.Tombstone{Source: source, Post: post}]
	return ok
}

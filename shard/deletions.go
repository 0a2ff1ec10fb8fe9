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

// deletions are the posts and authors that were deleted, read from the control topic: to its end before any row is
// rebuilt, and then as it grows. They are kept as long as the topics can still hold such a post.
//
// A deleted post stays deleted, whenever it comes. Of a deleted author goes what stands in records stamped no later than
// the tombstone: an account may come back, and what it posts then counts.
type deletions struct {
	control topic.Topic // nil: there are none
	reader  topic.Reader
	next    int64                      // position in the control topic
	forgot  time.Time                  // up to where old ones have gone
	corrupt func(*topic.Record, error) // is told of a record that is left out

	mu     sync.RWMutex // guards stamps against Deleted; the worker's goroutine alone changes them
	stamps map[feed.Tombstone]time.Time
}

// deletion is one tombstone that was read.
type deletion struct {
	feed.Tombstone
	position int64
	time     time.Time
}

func newDeletions(control topic.Topic) *deletions {
	return &deletions{control: control, corrupt: func(*topic.Record, error) {}, stamps: map[feed.Tombstone]time.Time{}}
}

// has reports whether a sentence of a record with this stamp is deleted.
func (d *deletions) has(s *feed.Sentence, stamp int64) bool {
	if len(d.stamps) == 0 {
		return false
	}
	if _, ok := d.stamps[feed.Tombstone{Source: s.Source, Post: s.Post}]; ok {
		return true
	}
	at, ok := d.stamps[feed.Tombstone{Source: s.Source, Author: s.Author}]
	return ok && s.Author != "" && stamp <= at.UnixNano()
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
		if r.Time.After(d.stamps[t]) {
			d.stamps[t] = r.Time
		}
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

// forgetEvery is how far apart two walks over all tombstones are: 70 ms for a million, in which nobody can ask.
const forgetEvery = time.Hour

// forget drops tombstones that no post in any topic is older than, or soon after that.
func (d *deletions) forget(before time.Time) {
	if before.Sub(d.forgot) < forgetEvery {
		return
	}
	d.forgot = before
	d.mu.Lock()
	defer d.mu.Unlock()
	for t, at := range d.stamps {
		if at.Before(before) {
			delete(d.stamps, t)
		}
	}
}

func (d *deletions) close() {
	if d.reader != nil {
		d.reader.Close()
		d.reader = nil
	}
}

// AppendRetraction appends the CloudEvent that says that a post, or an author, was deleted at t. Its id is the xxh3-128 of
// some strings, each as an unsigned varint length and its bytes: the word "retracted", the source and the post id; or the
// words "retracted author", the source, the author and the time as it is written. So it is the same however often it is
// said of one deletion.
func AppendRetraction(dst []byte, d feed.Tombstone, t feed.Time, deployment string) []byte {
	kind, name := "post", d.Post
	if d.Author != "" {
		kind, name = "author", d.Author
	}
	dst = append(dst, `{"specversion":"1.0","type":"`+feed.RetractedType+`","source":`...)
	dst = quote(dst, deployment)
	dst = append(dst, `,"id":"`...)
	dst = append(dst, retractionID(d, t).String()...)
	dst = append(dst, `","time":"`...)
	dst = append(dst, t.String()...)
	dst = append(dst, `","subject":`...)
	dst = quote(dst, name)
	dst = append(dst, `,"partitionkey":`...)
	dst = quote(dst, name)
	dst = append(dst, `,"datacontenttype":"application/json","data":{"source":`...)
	dst = quote(dst, d.Source)
	dst = append(dst, `,"`+kind+`":`...)
	dst = quote(dst, name)
	return append(dst, `}}`...)
}

// quote replaces bytes that are not UTF-8, which AppendQuote also reports as an error.
func quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

func retractionID(d feed.Tombstone, t feed.Time) feed.Hash {
	named := []string{"retracted", d.Source, d.Post}
	if d.Author != "" {
		named = []string{"retracted author", d.Source, d.Author, t.String()}
	}
	var b []byte
	for _, s := range named {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return xxh3.Hash128(b).Bytes()
}

// Deleted reports whether an event that was made at a time may not show a post any more, as far as this worker has read
// the control topic: because the post was deleted, or its author after he had posted it. Any goroutine may ask.
func (w *Worker) Deleted(n feed.Name, made time.Time) bool {
	w.deleted.mu.RLock()
	defer w.deleted.mu.RUnlock()
	stamps := w.deleted.stamps
	if len(stamps) == 0 {
		return false
	}
	if _, ok := stamps[feed.Tombstone{Source: n.Source, Post: n.Post}]; ok {
		return true
	}
	at, ok := stamps[feed.Tombstone{Source: n.Source, Author: n.Author}]
	return ok && n.Author != "" && !made.After(at.Add(feed.RetractionLag))
}

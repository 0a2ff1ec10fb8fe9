package shard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"refrain/feed"
	"refrain/topic"
)

// deletions reads the control topic for one worker: to its end before any row is rebuilt, and then as it grows.
type deletions struct {
	control topic.Topic // nil: there are none
	reader  topic.Reader
	next    int64                      // position in the control topic
	known   *Tombstones                // gets what is read
	corrupt func(*topic.Record, error) // gets a record that is left out
}

// deletion is one tombstone that was read.
type deletion struct {
	feed.Tombstone
	position int64
	time     time.Time
}

// read reads what the control topic holds now, and hands it on in parts: at a start there may be millions.
func (d *deletions) read(ctx context.Context, handle func([]deletion) error) error {
	if d.control == nil {
		return nil
	}
	start, end, err := d.control.Bounds(ctx)
	if err != nil {
		return fmt.Errorf("control topic: %w", err)
	}
	d.next = max(d.next, start[0])
	for d.next < end[0] {
		records, err := d.fetch(ctx)
		if err != nil {
			d.close()
			return fmt.Errorf("control topic: %w", err)
		}
		fresh, err := d.decode(records)
		if err := errors.Join(handle(fresh), err); err != nil {
			return err
		}
	}
	return nil
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
	var truncated *topic.ErrTruncated
	if errors.As(err, &truncated) { // tombstones go only after the posts that they delete
		d.next = max(d.next, truncated.Start)
		return nil, nil
	}
	return records, err
}

// decode reads records, and leaves out those that stay unreadable however often they are read.
func (d *deletions) decode(records []topic.Record) (all []deletion, err error) {
	for i := range records {
		r := &records[i]
		tombstones, err := topic.DecodeTombstones(r.Data)
		switch {
		case errors.Is(err, topic.ErrTombstonesCorrupt):
			d.corrupt(r, err)
		case err != nil:
			return all, fmt.Errorf("control topic: position %d: %w", r.Position, err)
		}
		d.known.add(tombstones, r.Time)
		for _, t := range tombstones {
			all = append(all, deletion{t, r.Position, r.Time})
		}
		d.next = r.Position + 1
	}
	return all, nil
}

// goBack reads from a position again, if that is behind.
func (d *deletions) goBack(to int64) {
	if to < d.next {
		d.close()
		d.next = to
	}
}

func (d *deletions) close() {
	if d.reader != nil {
		d.reader.Close()
		d.reader = nil
	}
}

// skipControl logs and counts a control record that cannot be read: what it deleted is not deleted.
func (w *Worker) skipControl(r *topic.Record, err error) {
	w.cfg.Logger.Error("unreadable control record left out: the posts that it deleted may be shown again; delete "+
		"again what was deleted then",
		"position", r.Position, "time", r.Time, "error", err)
	w.metrics.corruptControl()
}

// readDeletions reads new tombstones: the rows show no such post any more, and the owner of partition 0 reports it in
// the event topic.
func (w *Worker) readDeletions(ctx context.Context) error {
	now := w.cfg.Now()
	if w.deleted.control == nil || !w.controlIsDue(now) {
		return nil
	}
	err := w.deleted.read(ctx, func(fresh []deletion) error {
		w.each(func(q *partition) { q.delete(fresh, w.deleted.known) })
		return w.retract(ctx, fresh)
	})
	if err != nil {
		return err
	}
	w.controlRead = now
	w.knowsDeletions(w.deleted.next)
	if w.cfg.Retention > 0 {
		w.deleted.known.expire(now.Add(-w.cfg.Retention))
	}
	return nil
}

func (w *Worker) controlIsDue(now time.Time) bool {
	asked := w.controlAsked.Swap(false)
	return asked || w.controlRead.IsZero() || now.Sub(w.controlRead) >= w.cfg.ControlPoll
}

// knowsDeletions tells others up to which position of the control topic the rows show nothing that was deleted.
func (w *Worker) knowsDeletions(to int64) {
	if w.deletedTo.Swap(to) != to {
		w.progress.changed.send()
	}
}

// retract adds the retractions of deletions to the outbox, and makes them durable before there is too much of it.
func (w *Worker) retract(ctx context.Context, fresh []deletion) error {
	q := w.home[0]
	if q == nil || len(fresh) == 0 {
		return nil
	}
	for _, d := range fresh {
		if d.position >= q.state.Control {
			w.outbox.retract(d.Tombstone, feed.FromTime(d.time))
		}
	}
	q.state.Control = max(q.state.Control, fresh[len(fresh)-1].position+1)
	w.moved = true
	if len(w.outbox.records) < w.cfg.MaxEvents {
		return nil
	}
	return w.outbox.flush(ctx)
}

// delete takes what tombstones say out of the rows.
func (q *partition) delete(fresh []deletion, known *Tombstones) {
	if fresh = q.untold(fresh); len(fresh) == 0 {
		return
	}
	var posts []feed.Name
	for i := range fresh {
		if d := &fresh[i]; d.Author == "" {
			posts = append(posts, feed.Name{Source: d.Source, Post: d.Post})
		}
	}
	if len(posts) > 0 {
		q.rows.Delete(known.HasPost, posts)
	}
	if len(posts) == len(fresh) {
		return
	}
	since := q.young.byAuthor()
	for i := range fresh {
		if d := &fresh[i]; d.Author != "" {
			q.rows.DeleteAuthor(d.Source, d.Author, since.stays(d))
		}
	}
}

// untold are those that the rows have not been told of: a worker that takes a partition over reads some again. Who said what
// since a tombstone is forgotten after a while, so the rows may not be told twice.
func (q *partition) untold(fresh []deletion) []deletion {
	for len(fresh) > 0 && fresh[0].position < q.deletedTo {
		fresh = fresh[1:]
	}
	if n := len(fresh); n > 0 {
		q.deletedTo = fresh[n-1].position + 1
	}
	return fresh
}

// Deleted is that of the worker's Tombstones. Any goroutine may ask.
func (w *Worker) Deleted(n feed.Name, made time.Time) bool { return w.deleted.known.Deleted(n, made) }

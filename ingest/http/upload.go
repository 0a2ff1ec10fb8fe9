package http

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"refrain/feed"
	"refrain/ingest"
)

var (
	errSlowAck = errors.New("not confirmed durable in time")
	errDurable = errors.New("not made durable")
)

// upload is one request on its way: records become batches, batches are sent, acknowledgements come back.
type upload struct {
	h      *Source
	ctx    context.Context
	answer answer
	open   part        // the batch being filled
	sent   []part      // waiting for their acknowledgement, in order
	last   int         // line of the last record read
	failed atomic.Bool // some batch of it is not durable: those behind are not to be written
}

// part is one batch of a request with the lines that it answers for.
type part struct {
	batch    ingest.Batch
	bytes    int
	first    int // line of its first record
	results  []result
	accepted int
	acked    <-chan error
}

// read sends the whole body on. What came before an error has been sent too, if it could be.
func (u *upload) read(b body) error {
	for {
		rec, err := b.next()
		if err == io.EOF {
			return u.flush()
		}
		if err != nil {
			return errors.Join(fmt.Errorf("read body: %w", err), u.flush())
		}
		u.add(rec)
		select {
		case <-u.h.hurry:
			return errors.Join(errStopping, u.flush())
		default:
		}
		if u.full() {
			if err := u.flush(); err != nil {
				return err
			}
		}
	}
}

func (u *upload) full() bool {
	return len(u.open.results) >= u.h.cfg.BatchPosts || u.open.bytes >= u.h.cfg.BatchBytes
}

// add puts one record into the open batch, as a post or as a rejection.
func (u *upload) add(rec record) {
	p := &u.open
	u.last = rec.line
	if len(p.results) == 0 {
		p.first = rec.line
	}
	p.bytes += len(rec.raw)
	post, note, err := u.h.decode(rec)
	if err != nil {
		u.answer.malformed = rec.line == 1 && (rec.err != nil || !json.Valid(rec.raw))
		p.batch.Rejected = append(p.batch.Rejected, ingest.NewRejection(rec.place(), err.Error(), rec.raw))
		p.results = append(p.results, result{Line: rec.line, ID: post.ID, Status: "rejected", Reason: err.Error()})
		return
	}
	if note != "" {
		p.batch.Notes = append(p.batch.Notes, ingest.Note{Place: rec.place(), Text: note})
	}
	p.batch.Posts = append(p.batch.Posts, post)
	p.results = append(p.results, result{Line: rec.line, ID: post.ID, Status: "accepted", Note: note})
	p.accepted++
}

// decode reads one post. A post without a time of its own gets that of its arrival.
func (h *Source) decode(rec record) (feed.Post, string, error) {
	if rec.err != nil {
		return feed.Post{}, "", rec.err
	}
	p, note, err := feed.DecodePost(rec.raw, h.cfg.Fields)
	if err != nil {
		return p, "", err
	}
	if len(p.Text) > h.cfg.MaxText {
		return p, "", fmt.Errorf("text: %d bytes, the limit is %d", len(p.Text), h.cfg.MaxText)
	}
	note = feed.JoinNotes(note, h.cfg.Fields.Finish(&p, h.cfg.Source))
	if !p.Timed {
		p.Time = feed.FromTime(h.cfg.Now())
	}
	return p, note, nil
}

// flush sends the open batch, after taking in what has been acknowledged meanwhile.
func (u *upload) flush() error {
	if len(u.open.results) == 0 {
		return nil
	}
	if err := u.reap(); err != nil {
		return err
	}
	acked, err := u.h.send(u.ctx, &u.open.batch, &u.failed)
	if err != nil {
		return err
	}
	u.open.acked = acked
	u.sent = append(u.sent, u.open)
	u.open = part{}
	return nil
}

// reap takes the acknowledgements that are there, without waiting.
func (u *upload) reap() error {
	for len(u.sent) > 0 {
		select {
		case err := <-u.sent[0].acked:
			if err := u.take(err); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// take moves the oldest sent part into the answer, if it is durable. The first part that is not ends the
// request: what was sent after it may become durable too, but the client sends again from there, which changes
// nothing.
func (u *upload) take(err error) error {
	p := u.sent[0]
	if err != nil {
		return u.fail(fmt.Errorf("%w: %w", errDurable, err))
	}
	u.answer.add(p.results, p.accepted)
	u.sent = u.sent[1:]
	return nil
}

// fail gives up everything from the oldest part that is not acknowledged.
func (u *upload) fail(err error) error {
	u.answer.next = u.sent[0].first
	u.sent = nil
	return err
}

// settle waits for the acknowledgements of all that was sent.
func (u *upload) settle() error {
	timeout := time.NewTimer(u.h.cfg.AckTimeout)
	defer timeout.Stop()
	for len(u.sent) > 0 {
		if err := u.await(timeout.C); err != nil {
			return err
		}
	}
	u.answer.next = cmp.Or(u.answer.next, u.open.first)
	return nil
}

func (u *upload) await(timeout <-chan time.Time) error {
	select {
	case err := <-u.sent[0].acked:
		return u.take(err)
	case <-timeout:
		return u.fail(errSlowAck)
	case <-u.h.quit:
		return u.fail(errStopping)
	case <-u.ctx.Done():
		return u.fail(u.ctx.Err())
	}
}

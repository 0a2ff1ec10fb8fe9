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
	errCrowded = errors.New("too many uploads")
)

// upload is one request on its way: records become batches, batches are sent, acknowledgements come back.
type upload struct {
	h      *Source
	ctx    context.Context
	sender string // see ingest.Batch
	fields *feed.Fields
	answer answer
	open   part   // the batch being filled
	sent   []part // waiting for their acknowledgement, in order
	last   int    // line of the last record read
	slot   *uploadSlot
	memory *reservation // what all of this holds
	buffer int64        // held for the record being read
	failed atomic.Bool  // some batch of it is not durable: those behind are not to be written
}

// part is one batch of a request with the lines that it answers for.
type part struct {
	batch    ingest.Batch
	bytes    int
	room     int   // bytes with which it is full
	held     int64 // of the upload's memory, until it is acknowledged
	first    int   // line of its first record
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
		if err := u.holdRecord(rec); err != nil {
			return errors.Join(err, u.flush())
		}
		u.add(rec)
		select {
		case <-u.h.reading.Done():
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
	return len(u.open.results) >= u.h.cfg.BatchPosts || u.open.bytes >= u.open.room
}

// add puts one record into the open batch, as a post or as a rejection.
func (u *upload) add(rec record) {
	p := &u.open
	u.last = rec.line
	if len(p.results) == 0 {
		p.first, p.room = rec.line, min(u.h.cfg.BatchBytes, u.h.cfg.Room(u.sender))
	}
	p.bytes += len(rec.raw)
	p.held += int64(len(rec.raw)) + postOverhead
	post, note, err := u.h.decode(rec, u.fields)
	if err != nil {
		u.answer.malformed = rec.line == 1 && (rec.err != nil || !json.Valid(rec.raw))
		p.batch.Rejected = append(p.batch.Rejected, ingest.NewRejection(rec.location(), err.Error(), rec.raw))
		p.results = append(p.results, result{Line: rec.line, ID: post.ID, Status: "rejected", Reason: err.Error()})
		return
	}
	if note != "" {
		p.batch.Notes = append(p.batch.Notes, ingest.Note{Location: rec.location(), Text: note})
	}
	p.batch.Posts = append(p.batch.Posts, post)
	p.results = append(p.results, result{Line: rec.line, ID: post.ID, Status: "accepted", Note: note})
	p.accepted++
}

// decode reads one post. A post without a time of its own gets that of its arrival.
func (h *Source) decode(rec record, fields *feed.Fields) (feed.Post, string, error) {
	if rec.err != nil {
		return feed.Post{}, "", rec.err
	}
	p, note, err := feed.DecodePost(rec.raw, fields)
	if err != nil {
		return p, "", err
	}
	if len(p.Text) > h.cfg.MaxText {
		return p, "", fmt.Errorf("text: %d bytes, the limit is %d", len(p.Text), h.cfg.MaxText)
	}
	note = feed.JoinNotes(note, fields.Finish(&p, h.cfg.Source))
	if !p.Timed {
		p.Time = feed.FromTime(h.cfg.Now())
	}
	return p, note, nil
}

// flush sends the open batch, after collecting what has been acknowledged meanwhile.
func (u *upload) flush() error {
	if len(u.open.results) == 0 {
		return nil
	}
	if err := u.collectAcks(); err != nil {
		return err
	}
	u.open.batch.Sender = u.sender
	release, err := u.admit()
	if err != nil {
		return err
	}
	held := u.open.held
	acked, err := u.h.send(u.ctx, &u.open.batch, &u.failed, func() {
		u.memory.remove(held)
		release()
	})
	if err != nil {
		release()
		return err
	}
	u.open.acked = acked
	u.sent = append(u.sent, u.open)
	u.open = part{}
	return nil
}

// admit asks whether the open batch may be sent. That may take a while, but not beyond the end of the server.
func (u *upload) admit() (release func(), err error) {
	ctx, cancel := context.WithCancel(u.ctx)
	defer cancel()
	defer context.AfterFunc(u.h.reading, cancel)()
	return u.h.cfg.Admit(ctx, &u.open.batch)
}

// collectAcks collects the acknowledgements that are there, without waiting.
func (u *upload) collectAcks() error {
	for len(u.sent) > 0 {
		select {
		case err := <-u.sent[0].acked:
			if err := u.acknowledge(err); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// acknowledge moves the oldest sent part into the answer, if it is durable. The first part that is not ends the
// request: what was sent after it may become durable too, but the client sends again from there, which changes
// nothing.
func (u *upload) acknowledge(err error) error {
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

// finish waits for the acknowledgements of all that was sent.
func (u *upload) finish() error {
	err := u.drain()
	if err == nil {
		u.answer.next = cmp.Or(u.answer.next, u.open.first)
	}
	return err
}

func (u *upload) drain() error {
	timeout := time.NewTimer(u.h.cfg.AckTimeout)
	defer timeout.Stop()
	for len(u.sent) > 0 {
		if err := u.await(timeout.C); err != nil {
			return err
		}
	}
	return nil
}

// reserve waits for memory for n bytes. What was read before is made durable first, and so holds none any more.
func (u *upload) reserve(n int64) error {
	if u.memory.tryAdd(n) {
		return nil
	}
	if err := errors.Join(u.flush(), u.drain()); err != nil {
		return err
	}
	u.h.slots.evictSlowest(anyUpload)
	ctx, cancel := context.WithTimeout(u.ctx, u.h.cfg.Patience)
	defer cancel()
	if u.memory.add(ctx, n) != nil {
		u.h.metrics.refused.Add(u.ctx, 1)
		return errCrowded
	}
	return nil
}

// grow is asked when a record has n bytes so far. One that is not small has room for the largest at once, and for the post
// made of it: uploads that each held a part, and waited for more, would wait for each other.
func (u *upload) grow(n int) error {
	if n <= smallRecord || u.buffer > 0 {
		return nil
	}
	needed := 2*int64(u.h.cfg.MaxPost) + postOverhead
	if err := u.reserve(needed); err != nil {
		return err
	}
	u.buffer = needed
	return nil
}

// smallRecord is the size up to which a record counts as part of what every upload takes.
const smallRecord = 64 << 10

// holdRecord holds what a record takes until it is durable, and gives back what reading it took.
func (u *upload) holdRecord(rec record) error {
	n := int64(len(rec.raw)) + postOverhead
	if u.buffer == 0 {
		return u.reserve(n)
	}
	u.memory.remove(u.buffer - n)
	u.buffer = 0
	return nil
}

// end gives back what is held of the body.
func (u *upload) end() { u.memory.remove(u.buffer + u.open.held) }

func (u *upload) await(timeout <-chan time.Time) error {
	select {
	case err := <-u.sent[0].acked:
		return u.acknowledge(err)
	case <-timeout:
		return u.fail(errSlowAck)
	case <-u.h.quit:
		return u.fail(errStopping)
	case <-u.ctx.Done():
		return u.fail(u.ctx.Err())
	}
}

package shard

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/zeebo/xxh3"

	"refrain/feed"
	"refrain/internal/retry"
	"refrain/topic"
)

// found holds the events that the look-ups of a partition have found, as they will be written, until they are given to
// the outbox: at the end of a turn, or as soon as there are so many of them, or so many bytes. One sentence may repeat
// thousands of texts, and one event may take a hundred kilobytes.
type found struct {
	records []topic.Record
	bytes   int
	room    []byte // where the next events are written, one behind the other

	accepted []int64 // stamps of the posts that the events are about
	last     postOf  // the last of them

	deployment feed.Deployment
	partitions int // of the event topic
	maxEvents  int
	maxBytes   int
	spill      func()        // gives them to the outbox in the middle of a turn
	spilled    time.Duration // how long that took, ever, with the wait for other partitions' spills
}

// postOf is the later post of an event, and the stamp of the record that was looked up.
type postOf struct {
	stamp        int64
	source, post string
}

func newFound(w *Worker) found {
	return found{
		deployment: w.cfg.Deployment, partitions: w.cfg.Events.Partitions(),
		maxEvents: w.cfg.MaxEvents,
	}
}

// foundRoom is how much is made room for at a time: events of the usual size share it.
const foundRoom = 32 << 10

// add writes the event of a match, which came from a record of that trace and stamp, and returns its size in bytes.
func (f *found) add(m *feed.Match, trace string, stamp int64) int {
	f.note(postOf{stamp, m.Later.Source, m.Later.Post})
	data := f.write(m)
	f.records = append(f.records, topic.Record{
		Partition: partitionOf(f.partitions, m.Later.Source, m.Later.Post), Trace: trace, Data: data,
	})
	f.bytes += len(data)
	if len(f.records) >= f.maxEvents || f.bytes >= f.maxBytes {
		f.spill()
	}
	return len(data)
}

func (f *found) write(m *feed.Match) []byte {
	const usual = 2 << 10 // bytes of an event
	if cap(f.room)-len(f.room) < usual {
		f.room = make([]byte, 0, foundRoom)
	}
	begin := len(f.room)
	out := m.AppendEventOf(f.room, &f.deployment)
	if len(out) > cap(f.room) { // it had no room: what is there stays for others
		return bytes.Clone(out[begin:])
	}
	f.room = out
	return out[begin:len(out):len(out)]
}

// note notes when a post was accepted, once for all of its events that stand together.
func (f *found) note(p postOf) {
	if p != f.last {
		f.accepted = append(f.accepted, p.stamp)
		f.last = p
	}
}

// drain hands out what there is, and when the posts were accepted that it is about.
func (f *found) drain() (records []topic.Record, accepted []int64) {
	records, accepted = f.records, f.accepted
	f.records, f.bytes, f.accepted, f.last = nil, 0, nil, postOf{}
	return records, accepted
}

// partitionOf is the partition of the event topic for what concerns one post, or author, so that its order is kept there.
func partitionOf(partitions int, source, post string) int {
	return int(xxh3.HashStringSeed(post, xxh3.HashString(source)) % uint64(partitions))
}

// heldSpills is how many times EventBytes may wait in the outbox when the topic does not take them.
const heldSpills = 4

// errGivenUp says that events were given up because the worker was told to stop while the topic took none.
var errGivenUp = errors.New("the event topic takes nothing: the look-ups since the last commit are done again " +
	"after the next start")

// spill makes the events that a partition has found so far durable, in the middle of a turn. What cannot be made durable
// now is kept, and fails the turn at its end; where too much is kept, the turn waits until the topic takes it. Should
// the worker be told to stop meanwhile, all are given up, and nothing is committed any more.
func (w *Worker) spill(ctx context.Context, f *found) {
	asked := w.cfg.Now()
	w.spilling.Lock()
	defer w.spilling.Unlock()
	begin := w.cfg.Now()
	defer func() {
		f.spilled += w.cfg.Now().Sub(asked)
		w.appending += w.cfg.Now().Sub(begin)
	}()
	w.outbox.add(f)
	if w.spillFailed == nil {
		w.spillFailed = w.outbox.flush(context.WithoutCancel(ctx))
	}
	if w.outbox.bytes >= heldSpills*w.cfg.EventBytes {
		w.spillFailed = w.flushRetrying(ctx)
	}
}

// flushRetrying tries to make the outbox durable until that works, or ctx ends.
func (w *Worker) flushRetrying(ctx context.Context) error {
	pauses := retry.Steady()
	for ctx.Err() == nil {
		err := w.outbox.flush(context.WithoutCancel(ctx))
		if err == nil || errors.Is(err, topic.ErrClosed) {
			return err
		}
		pause := pauses.NextBackOff()
		w.cfg.Logger.Error("match worker: retrying append of events; look-ups wait", "error", err, "bytes",
			w.outbox.bytes, "pause", pause)
		_ = retry.Sleep(ctx, pause) // the loop sees that ctx has ended
	}
	w.outbox.giveUpAll()
	return errGivenUp
}

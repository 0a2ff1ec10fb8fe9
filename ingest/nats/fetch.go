package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
)

// ask requests messages if there is room for them, once it is sure that what was lost on the way comes first.
func (r *reader) ask() {
	if r.fetch != nil || !r.open.empty() || time.Now().Before(r.due) || !r.conn.IsConnected() {
		return
	}
	err := r.sure()
	if err == nil && !r.unsure.Load() {
		err = r.request()
	}
	if err != nil {
		pause := r.pauses.NextBackOff()
		r.due = time.Now().Add(pause)
		r.cfg.Logger.Warn("ingest: interrupted, to be tried again", "source", r.name, "error", err, "pause", pause)
	}
}

// request asks for one batch. A message that is larger than the limit ends a request as if there were none, and so the
// request after an empty one is for a single message of any size.
func (r *reader) request() error {
	ctx, cancel := context.WithTimeout(r.ctx, fetchWait)
	options := []js.FetchOpt{js.FetchContext(ctx), js.FetchHeartbeat(heartbeat)}
	n := 1
	if !r.single {
		n = r.cfg.BatchPosts
		if limit := r.consumer.CachedInfo().Config.MaxRequestBatch; limit > 0 {
			n = min(n, limit)
		}
		options = append(options, js.FetchMaxBytes(max(r.cfg.BatchBytes, int(r.conn.MaxPayload())+overheadOf)))
	}
	fetch, err := r.consumer.Fetch(n, options...)
	if err != nil {
		cancel()
		return fmt.Errorf("ask for messages: %w", err)
	}
	r.fetch, r.stop, r.got, r.looked = fetch, cancel, 0, false
	return nil
}

// fetched ends a request.
func (r *reader) fetched() {
	err := r.fetch.Error()
	r.stop()
	r.fetch, r.single = nil, r.got == 0 && !r.single
	if err == nil {
		r.pauses.Reset()
		return
	}
	r.doubt()
	if r.ctx.Err() == nil && !errors.Is(err, context.Canceled) { // else it was ended by the reader
		r.due = time.Now().Add(r.pauses.NextBackOff())
		r.cfg.Logger.Warn("ingest: interrupted", "source", r.name, "error", err)
	}
}

// doubt notes that messages may have been delivered that never arrived.
func (r *reader) doubt() {
	r.since, r.looks = time.Now(), 0
	r.unsure.Store(true)
}

// sure waits, in several calls, until the server has nothing that it takes for delivered and that is not here. Such
// messages come again when their time is up, in their order and before any new ones.
func (r *reader) sure() error {
	if !r.unsure.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.ctx, askWait)
	defer cancel()
	info, err := r.consumer.Info(ctx)
	if errors.Is(err, js.ErrConsumerNotFound) || errors.Is(err, js.ErrStreamNotFound) {
		r.next = 0 // another stream has another order
		return r.subscribe(ctx)
	}
	if err != nil {
		return fmt.Errorf("ask for the state of the consumer: %w", err)
	}
	r.pending.Store(int64(info.NumPending))
	wait := info.Config.AckWait + beat - time.Since(r.since)
	if lost := info.NumAckPending - len(r.mine); lost > 0 && wait > 0 {
		if r.looks++; r.looks == 2 { // at the first look the last acknowledgements may still be on their way
			r.cfg.Logger.Info("ingest: posts were delivered and not acknowledged; waiting until they come again",
				"source", r.name, "posts", lost, "wait", wait)
		}
		r.due = time.Now().Add(min(beat, wait))
		return nil
	}
	if r.next == 0 {
		r.next = max(info.AckFloor.Stream, info.Delivered.Stream) + 1
	}
	if r.whole {
		r.lookForLost(^uint64(0))
	}
	r.unsure.Store(false)
	return nil
}

// lookForLost reports the messages from the expected one up to before the given one that the stream's limits have
// dropped. Holes behind the stream's beginning were made by somebody, and are none of them.
func (r *reader) lookForLost(before uint64) {
	ctx, cancel := context.WithTimeout(r.ctx, askWait)
	defer cancel()
	stream, err := r.js.Stream(ctx, r.cfg.Stream)
	if err != nil {
		r.cfg.Logger.Warn("ingest: cannot tell whether posts were lost", "source", r.name, "error", err)
		return
	}
	first := min(stream.CachedInfo().State.FirstSeq, before)
	if first <= r.next {
		return
	}
	r.metrics.lose(first - r.next)
	r.cfg.Logger.Error("ingest: posts lost: the stream's limits dropped them before they were read",
		"source", r.name, "posts", first-r.next, "from", r.next, "to", first-1)
	r.next = first
}

package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
)

// requestMore requests messages if there is room for them, once what was lost on the way has come again.
func (r *reader) requestMore() {
	if r.fetch != nil || !r.open.empty() || r.refill() || time.Now().Before(r.due) || !r.conn.IsConnected() {
		return
	}
	err := r.reconcile()
	if err == nil && !r.unsure.Load() && !r.refill() {
		err = r.request(r.cfg.BatchPosts, fetchWait)
	}
	if err != nil {
		pause := r.pauses.NextBackOff()
		r.cfg.Status.Failed(r.name, err)
		r.due = time.Now().Add(pause)
		r.cfg.Logger.Warn("ingest: retrying fetch", "source", r.name, "error", err, "pause", pause)
	}
}

// refill fills the open batch with what was gathered, once all of it is here and in order.
func (r *reader) refill() bool {
	if r.gathering || len(r.redelivered) == 0 {
		return false
	}
	n := 0
	for ; n < len(r.redelivered) && !r.open.full(&r.cfg); n++ {
		r.open.add(r.redelivered[n].Msg, r.redelivered[n].meta, &r.cfg)
	}
	r.redelivered = slices.Delete(r.redelivered, 0, n)
	return true
}

// request asks for n messages, or as many as one request may. A message that is larger than the limit ends a request as
// if there were none, and so the request after an empty one is for a single message of any size.
func (r *reader) request(n int, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(r.ctx, wait)
	options := []js.FetchOpt{js.FetchContext(ctx)}
	if wait > 2*heartbeat {
		options = append(options, js.FetchHeartbeat(heartbeat))
	}
	if r.single {
		n = 1
	} else {
		n = min(n, r.cfg.BatchPosts)
		if limit := r.consumer.CachedInfo().Config.MaxRequestBatch; limit > 0 {
			n = min(n, limit)
		}
		options = append(options, js.FetchMaxBytes(r.requestBytes()))
	}
	fetch, err := r.consumer.Fetch(n, options...)
	if err != nil {
		cancel()
		return fmt.Errorf("ask for messages: %w", err)
	}
	r.fetch, r.stop, r.got, r.lostReported = fetch, cancel, 0, false
	return nil
}

func (r *reader) requestBytes() int {
	return max(r.cfg.BatchBytes, int(r.conn.MaxPayload())+maxOverhead)
}

// fetched ends a request.
func (r *reader) fetched() {
	err := r.fetch.Error()
	r.stop()
	r.fetch, r.single = nil, r.got == 0 && !r.single
	if err == nil {
		r.cfg.Status.Fetched(r.name)
		r.pauses.Reset()
		return
	}
	r.markUnsure()
	if r.ctx.Err() == nil && !errors.Is(err, context.Canceled) { // else it was ended by the reader
		r.due = time.Now().Add(r.pauses.NextBackOff())
		r.cfg.Status.Failed(r.name, err)
		r.cfg.Logger.Warn("ingest: interrupted", "source", r.name, "error", err)
	}
}

// markUnsure notes that messages may have been delivered that never arrived.
func (r *reader) markUnsure() {
	r.since, r.lostChecks = time.Now(), 0
	r.unsure.Store(true)
}

// reconcile makes certain, in several calls, that the server has nothing that it takes for delivered and that is not here.
//
// Such messages come again when their time is up, and before new ones. But each comes when its own time is up, which is
// at once if the server could not write it to a connection that broke, and later if it was said to be worked on. So they
// are gathered until all are here.
func (r *reader) reconcile() error {
	if !r.unsure.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.ctx, infoTimeout)
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
	r.cfg.Status.Fetched(r.name)
	return r.compare(info)
}

// compare does what is next, now that the server has told what it takes for delivered.
func (r *reader) compare(info *js.ConsumerInfo) error {
	missing := info.NumAckPending - len(r.mine)
	wait := info.Config.AckWait + pollInterval - time.Since(r.since)
	if missing > 0 && wait > 0 {
		r.await(missing, wait)
		return nil
	}
	if r.next == 0 {
		r.next = max(info.AckFloor.Stream, info.Delivered.Stream) + 1
	}
	if missing > 0 && r.shouldGather(missing, -wait, info.Config.AckWait) {
		return r.gather(missing)
	}
	if r.unfiltered {
		r.reportLost(^uint64(0))
	}
	r.gathered()
	return nil
}

func (r *reader) await(missing int, wait time.Duration) {
	if r.lostChecks++; r.lostChecks == 2 { // at the first look the last acknowledgements may still be on their way
		r.cfg.Logger.Info("ingest: posts were delivered and not acknowledged; waiting until they come again",
			"source", r.name, "posts", missing, "wait", wait)
	}
	r.due = time.Now().Add(min(pollInterval, wait))
}

// shouldGather reports whether to go on gathering. Not for ever: somebody may have bounded the deliveries of the consumer.
func (r *reader) shouldGather(missing int, overdue, ackWait time.Duration) bool {
	bytes := 0
	for _, d := range r.redelivered {
		bytes += len(d.Data()) + messageOverhead
	}
	if overdue < ackWait+infoTimeout && bytes < maxGatherRequests*r.requestBytes() {
		return true
	}
	r.cfg.Logger.Warn("ingest: posts that were delivered and not acknowledged have not come again; going on, they "+
		"may come late",
		"source", r.name, "posts", missing)
	return false
}

// gather asks for what comes again. While only new messages come it asks for one now and then: they have to wait here.
func (r *reader) gather(missing int) error {
	if r.gathering && !r.sawRedelivery {
		missing, r.due = 1, time.Now().Add(pollInterval)
	}
	r.gathering, r.sawRedelivery = true, false
	return r.request(missing, gatherWait)
}

// gathered puts what has come again in its order.
func (r *reader) gathered() {
	slices.SortFunc(r.redelivered, func(a, b delivery) int {
		return cmp.Compare(a.meta.Sequence.Stream, b.meta.Sequence.Stream)
	})
	r.gathering = false
	r.unsure.Store(false)
}

// reportLost reports the messages from the expected one up to before the given one that the stream's limits have
// dropped. Holes behind the stream's beginning were made by somebody, and are none of them.
func (r *reader) reportLost(before uint64) {
	ctx, cancel := context.WithTimeout(r.ctx, infoTimeout)
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
	r.metrics.countLost(first - r.next)
	r.cfg.Logger.Error("ingest: posts lost: the stream's limits dropped them before they were read",
		"source", r.name, "posts", first-r.next, "from", r.next, "to", first-1)
	r.next = first
}

package nats

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/ingest"
	"refrain/internal/retry"
)

const (
	pollInterval      = 250 * time.Millisecond // how often the reader checks whether something is due
	fetchWait         = 30 * time.Second       // for messages, at one request
	heartbeat         = 5 * time.Second        // of the server while a request waits; after two without one it is lost
	infoTimeout       = 2 * time.Second        // for an answer about the consumer or the stream
	gatherWait        = 2 * time.Second        // for messages that come again, at one request
	pendingInterval   = 10 * time.Second       // how often the messages that wait on the server are counted
	redeliverDelay    = time.Second            // pause before a batch that was not made durable is handed on again
	maxOverhead       = 64 << 10               // bytes of a message that are not its payload, at most
	messageOverhead   = 1 << 10                // such bytes of a usual message in memory, about
	maxGatherRequests = 16                     // requests' worth of bytes gathered; what is lost on the way is three, at most
)

var errNoConnection = errors.New("there is no connection to the server")

// reader is what the goroutine of a Source knows.
type reader struct {
	*Source
	out         *part               // handed on, and not acknowledged yet
	retry       *part               // to be handed on again
	open        *part               // being filled by the fetch in progress, or full
	redelivered []delivery          // came again while gathering; go into open when all have come
	mine        map[uint64]struct{} // sequences of all of them

	fetch        js.MessageBatch    // in progress, nil without one
	stop         context.CancelFunc // ends it
	got          int                // messages of it
	single       bool               // the next one asks for one message of any size
	lostReported bool               // lost messages were reported during it

	next       uint64    // stream sequence expected, once it is known
	since      time.Time // when deliveries may last have been lost
	lostChecks int       // for lost deliveries, since then
	due        time.Time // when the next request may be made

	gathering     bool // what was lost on the way, and comes again
	sawRedelivery bool // in the last request

	retryAt        time.Time // when retry may be handed on
	renewed        time.Time // when the server was last told that the messages are still being worked on
	pendingChecked time.Time // when the server was last asked how much is pending
	pauses         *backoff.ExponentialBackOff
}

// delivery is a message, and what the server says of it.
type delivery struct {
	js.Msg
	meta *js.MsgMetadata
}

// run is the reader: every turn does one thing, and then asks for more messages if there is room.
func (s *Source) run() {
	defer close(s.done)
	r := &reader{Source: s, open: new(part), mine: map[uint64]struct{}{}, since: time.Now(), pauses: retry.Steady()}
	defer r.nakAll()
	if !r.assign() {
		return
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for r.ctx.Err() == nil {
		r.requestMore()
		r.turn(tick.C)
	}
}

// assign says which source partition there is.
func (r *reader) assign() bool {
	if r.cfg.Assigned == nil {
		return true
	}
	_, err := backoff.Retry(r.ctx, func() (struct{}, error) {
		return struct{}{}, r.cfg.Assigned(r.ctx, []string{r.name})
	}, backoff.WithBackOff(retry.Steady()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, pause time.Duration) {
		r.cfg.Logger.Warn("ingest: the source partition is not known yet", "source", r.name, "error", err, "pause", pause)
	}))
	return err == nil
}

func (r *reader) turn(tick <-chan time.Time) {
	var messages <-chan js.Msg
	if r.fetch != nil {
		messages = r.fetch.Messages()
	}
	ready, to := r.ready()
	select {
	case <-r.ctx.Done():
	case to <- ready:
		r.hand(ready)
	case x := <-r.Source.results:
		r.finish(x)
	case m, ok := <-messages:
		if ok {
			r.add(m)
		} else {
			r.fetched()
		}
	case <-r.connected: // the request went to a connection that is gone
		r.markUnsure()
		if r.fetch != nil {
			r.stop()
		}
	case now := <-tick:
		r.tick(now)
	}
}

// ready is the batch to hand on now, and where to; nil and nil without one.
func (r *reader) ready() (*part, chan<- *part) {
	switch {
	case r.out != nil:
		return nil, nil
	case r.retry != nil && time.Now().After(r.retryAt):
		return r.retry, r.batches
	case r.retry == nil && !r.open.empty():
		return r.open, r.batches
	}
	return nil, nil
}

func (r *reader) hand(p *part) {
	r.out = p
	if p == r.retry {
		r.retry = nil
	} else {
		r.open = new(part)
	}
}

// finish ends a batch: it is acknowledged, or handed on again before any other.
func (r *reader) finish(x batchResult) {
	r.out = nil
	if x.err != nil {
		r.cfg.Logger.Warn("ingest: a batch was not made durable and comes again", "source", r.name, "error", x.err)
		r.retry, r.retryAt = x.part, time.Now().Add(redeliverDelay)
		return
	}
	ingest.Count(context.Background(), &x.part.batch)
	for _, m := range x.part.messages {
		if err := m.Ack(); err != nil {
			r.cfg.Logger.Warn("ingest: not acknowledged, it comes again", "source", r.name, "error", err)
		}
		r.untrack(m)
	}
}

func (r *reader) untrack(m js.Msg) {
	if meta, err := m.Metadata(); err == nil {
		delete(r.mine, meta.Sequence.Stream)
	}
	r.unacked.Store(int64(len(r.mine)))
}

// add puts a message into the open batch.
func (r *reader) add(m js.Msg) {
	r.got++
	meta, err := m.Metadata()
	if err != nil {
		r.cfg.Logger.Error("ingest: a message that is of no stream", "source", r.name, "subject", m.Subject(), "error", err)
		return
	}
	r.pending.Store(int64(meta.NumPending))
	r.sawRedelivery = r.sawRedelivery || meta.NumDelivered > 1
	if _, tracked := r.mine[meta.Sequence.Stream]; tracked {
		return // it was too long on its way through, and is acknowledged with the first delivery
	}
	r.mine[meta.Sequence.Stream] = struct{}{}
	r.unacked.Store(int64(len(r.mine)))
	if meta.Sequence.Stream > r.next && r.unfiltered && !r.lostReported {
		r.lostReported = true // once a fetch: a stream may have many holes that somebody made
		r.reportLost(meta.Sequence.Stream)
	}
	r.next = max(r.next, meta.Sequence.Stream+1)
	if r.gathering {
		r.redelivered = append(r.redelivered, delivery{m, meta})
	} else {
		r.open.add(m, meta, &r.cfg)
	}
}

// tick does what is due from time to time.
func (r *reader) tick(now time.Time) {
	if !r.conn.IsConnected() {
		r.cfg.Status.FailedOnce(r.name, errNoConnection)
		return
	}
	if now.Sub(r.renewed) >= r.consumer.CachedInfo().Config.AckWait/3 {
		r.renewed = now
		r.each(func(m js.Msg) error { return m.InProgress() })
	}
	if now.Sub(r.pendingChecked) >= pendingInterval && !r.unsure.Load() {
		r.pendingChecked = now
		ctx, cancel := context.WithTimeout(r.ctx, infoTimeout)
		defer cancel()
		info, err := r.consumer.Info(ctx)
		if err != nil {
			r.cfg.Status.Failed(r.name, err)
			return
		}
		r.pending.Store(int64(info.NumPending))
		r.cfg.Status.Fetched(r.name)
	}
}

// nakAll lets the server deliver at once what is left, to whoever reads next.
func (r *reader) nakAll() {
	select {
	case x := <-r.Source.results:
		r.finish(x)
	default:
	}
	if r.fetch != nil {
		r.stop()
		for m := range r.fetch.Messages() {
			r.open.messages = append(r.open.messages, m)
		}
	}
	r.each(func(m js.Msg) error { return m.Nak() })
}

// each does something to all messages that are here, in their order; what fails is redelivered, and does no harm.
func (r *reader) each(do func(js.Msg) error) {
	var errs []error
	for _, p := range []*part{r.out, r.retry, r.open} {
		if p == nil {
			continue
		}
		for _, m := range p.messages {
			errs = append(errs, do(m))
		}
	}
	for _, d := range r.redelivered {
		errs = append(errs, do(d.Msg))
	}
	if err := errors.Join(errs...); err != nil {
		r.cfg.Logger.Debug("ingest: messages may come again", "source", r.name, "error", err)
	}
}

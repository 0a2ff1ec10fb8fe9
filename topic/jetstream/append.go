package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/topic"
)

// Append implements topic.Topic. The messages are sent one behind the other without waiting, and then all
// acknowledgements are awaited. While the servers choose who leads the stream nobody takes it, and it is tried again, as a
// whole and with a new stamp. Otherwise nothing is sent again by itself: a record sent twice would come behind its followers.
func (t *Topic) Append(ctx context.Context, records []topic.Record) error {
	again := func(err error) bool { return errors.Is(err, errNoLeader) }
	if err := retryFor(ctx, ackWait, again, func(ctx context.Context) error { return t.append(ctx, records) }); err != nil {
		return fmt.Errorf("append to topic %s: %w", t.cfg.Name, err)
	}
	return nil
}

func (t *Topic) append(ctx context.Context, records []topic.Record) error {
	if err := topic.CheckPartitions(records, t.cfg.Partitions); err != nil {
		return err
	}
	if err := errors.Join(ctx.Err(), t.health.check()); err != nil {
		return err
	}
	life, err := t.health.life()
	if err != nil {
		return err
	}
	f := flight{topic: t, life: life}
	defer f.abandon()
	now := t.cfg.Now()
	for len(records) > 0 {
		n := t.together(records)
		m := t.message(records[:n], now)
		if err := t.awaitPace(ctx, pacedSize(m, records[:n])); err != nil {
			return err
		}
		if err := f.send(ctx, m); err != nil {
			return err
		}
		records = records[n:]
	}
	return f.await(ctx)
}

// flight is what one Append has sent and nobody has acknowledged yet, oldest first.
type flight struct {
	topic      *Topic
	life       uint64 // of the server
	sent       []sent
	last       *js.PubAck // of what was acknowledged
	unanswered error      // some that no server has taken, so that none has stored them; nil: there are none
}

// errNoLeader says that no server has taken anything of an append.
var errNoLeader = errors.New("the servers are choosing who leads the stream, or too few of them are there")

type sent struct {
	ack    js.PubAckFuture
	size   int64 // in flight
	stored int64 // on the disk
}

func (f *flight) send(ctx context.Context, m *nats.Msg) error {
	size := min(int64(len(m.Data))+1, maxInFlight)
	if err := f.makeRoom(ctx, size); err != nil {
		return err
	}
	ack, err := f.topic.js.PublishMsgAsync(m, js.WithRetryAttempts(0))
	if err != nil {
		f.topic.inFlight.Release(size)
		return f.topic.explain(err, len(m.Data))
	}
	f.sent = append(f.sent, sent{ack, size, storedSize(m)})
	return nil
}

// makeRoom takes size bytes of what may be in flight. While there is no room it first waits for this append's own
// records: two appends that each held a part and waited for the other's would wait forever.
func (f *flight) makeRoom(ctx context.Context, size int64) error {
	for !f.topic.inFlight.TryAcquire(size) {
		if len(f.sent) == 0 {
			return f.topic.inFlight.Acquire(ctx, size)
		}
		if err := f.awaitFirst(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (f *flight) await(ctx context.Context) error {
	var m *nats.Msg
	for len(f.sent) > 0 {
		m = f.sent[0].ack.Msg()
		if err := f.awaitFirst(ctx); err != nil {
			return err
		}
	}
	switch {
	case f.unanswered != nil:
		return f.noResponse()
	case m == nil: // an append of nothing
		return nil
	}
	return f.topic.health.acknowledge(f.last, m, f.life)
}

func (f *flight) awaitFirst(ctx context.Context) error {
	select {
	case f.last = <-f.sent[0].ack.Ok():
		f.topic.appended.Add(f.sent[0].stored)
		f.releaseFirst()
		return nil
	case err := <-f.sent[0].ack.Err():
		if errors.Is(err, js.ErrNoStreamResponse) {
			f.unanswered = f.topic.explain(err, 0)
			f.releaseFirst()
			return nil
		}
		if errors.Is(err, js.ErrAsyncPublishTimeout) {
			f.topic.health.unanswered()
		}
		return f.topic.explain(err, 0)
	case <-f.topic.health.stopped:
		return fmt.Errorf("not acknowledged: %w", f.topic.health.check())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// releaseFirst gives the room of the oldest free.
func (f *flight) releaseFirst() {
	f.topic.inFlight.Release(f.sent[0].size)
	f.sent = f.sent[1:]
}

// noResponse is why not all were taken. Where none was, they may be sent again in their order. A server in this process has no
// other that may lead.
func (f *flight) noResponse() error {
	f.topic.health.unanswered()
	if f.last == nil && f.topic.health.watched != nil {
		return fmt.Errorf("%w: %w", errNoLeader, f.unanswered)
	}
	return f.unanswered
}

// abandon gives the room of what is left free after an error: it arrives or not, nobody waits for it.
func (f *flight) abandon() {
	for _, s := range f.sent {
		f.topic.inFlight.Release(s.size)
	}
	f.sent = nil
}

// explain gives the client's error the name of its cause, where there is one.
func (t *Topic) explain(err error, size int) error {
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %d bytes of data, with its headers it may have %d", topic.ErrTooLarge, size,
			t.js.Conn().MaxPayload())
	case hasCode(err, codeStoreFailed), hasCode(err, codeInsufficient) && t.health.why == nil:
		return fmt.Errorf("%w: its limit of %d bytes is reached: %w", topic.ErrFull, t.cfg.MaxBytes, err)
	case hasCode(err, codeInsufficient, codeResources, codeNoDisk):
		return fmt.Errorf("%w: %w", topic.ErrFull, explainAPI(err, t.cfg.Name))
	case isDisconnected(err):
		return fmt.Errorf("no connection to a server: %w", err)
	case errors.Is(err, js.ErrAsyncPublishTimeout), errors.Is(err, js.ErrNoStreamResponse):
		// The server does not answer when it could not write. What it would say is with the disk.
		return errors.Join(fmt.Errorf("not acknowledged: %w", err), t.health.check())
	}
	return err
}

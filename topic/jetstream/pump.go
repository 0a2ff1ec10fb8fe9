package jetstream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/internal/retry"
	"refrain/topic"
)

// The pump is the goroutine of a reader: from the server into the queue.

// pump runs one consumer after the other until Close, or until the connection has been closed for good.
func (r *reader) pump() {
	defer close(r.done)
	pauses, since := retry.Quick(), time.Now()
	for {
		before := r.next
		err := r.consume()
		if r.ctx.Err() != nil {
			return
		}
		if r.topic.js.Conn().IsClosed() {
			r.put(item{err: r.explain(err)})
			return
		}
		if r.next > before {
			pauses.Reset()
			since = time.Now()
		}
		r.topic.cfg.Logger.Warn("reader interrupted, going on", "topic", r.topic.cfg.Name, "position",
			r.topic.begin(uint64(r.next)), "error", err)
		if deleted := errors.Is(err, js.ErrStreamNotFound); deleted || time.Since(since) >= retryTimeout {
			r.put(item{err: r.explain(err)})
			since = time.Now()
		}
		_ = retry.Sleep(r.ctx, pauses.NextBackOff()) // consume sees that it has ended
	}
}

func (r *reader) explain(err error) error {
	return fmt.Errorf("read topic %s from position %d: %w", r.topic.cfg.Name, r.topic.begin(uint64(r.next)), err)
}

// consume makes a consumer at next and moves its messages to the queue until something breaks.
func (r *reader) consume() error {
	if err := r.passGap(math.MaxInt64); err != nil {
		return err
	}
	consumer, err := r.topic.js.OrderedConsumer(r.ctx, r.topic.cfg.Name, js.OrderedConsumerConfig{
		FilterSubjects: r.filtered, DeliverPolicy: js.DeliverByStartSequencePolicy, OptStartSeq: uint64(r.next),
		InactiveThreshold: inactive, MaxResetAttempts: 1,
	})
	if err != nil {
		return fmt.Errorf("make consumer: %w", err)
	}
	messages, err := consumer.Messages(js.PullMaxMessages(r.pull))
	if err != nil {
		return fmt.Errorf("start consumer: %w", err)
	}
	defer r.remove(consumer)
	defer messages.Stop()
	for {
		m, err := nextMessage(r.ctx, messages)
		if err != nil {
			return fmt.Errorf("next message: %w", err)
		}
		if err := r.enqueue(m); err != nil {
			return err
		}
	}
}

// naps are the first waits for a message, before one without end: 315 ms together.
var naps = []js.NextOpt{
	js.NextMaxWait(5 * time.Millisecond), js.NextMaxWait(10 * time.Millisecond), js.NextMaxWait(20 * time.Millisecond),
	js.NextMaxWait(40 * time.Millisecond), js.NextMaxWait(80 * time.Millisecond), js.NextMaxWait(160 * time.Millisecond),
}

// nextMessage waits for a message, and calls the client again when none comes soon. The client (nats.go 1.55) asks the
// server for more when it is called or has taken a message, but not while its last request is still being sent. When
// that takes longer than all the messages do that were asked for before, as on a busy machine, it has nothing to wait
// for any more, and notices by the missing heartbeats, 10 s later. The last wait is without end since each begins to
// count the heartbeats anew.
func nextMessage(ctx context.Context, messages js.MessagesContext) (js.Msg, error) {
	for _, nap := range naps {
		m, err := messages.Next(nap)
		if !errors.Is(err, nats.ErrTimeout) {
			return m, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return messages.Next(js.NextContext(ctx))
}

// remove deletes the consumer. When that fails the server forgets it by itself a minute later.
func (r *reader) remove(consumer js.Consumer) {
	info := consumer.CachedInfo()
	if info == nil || r.topic.js.Conn().IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = r.topic.js.DeleteConsumer(ctx, r.topic.cfg.Name, info.Name)
}

// enqueue puts one message into the queue, without the records of partitions that are not read yet at their position. One
// that is none of ours becomes an error, and is stepped over.
func (r *reader) enqueue(m js.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("message without metadata: %w", err)
	}
	seq := int64(meta.Sequence.Stream)
	if seq > r.next {
		if err := r.passGap(seq); err != nil {
			return err
		}
		if r.filtered == nil {
			r.topic.addUnread(r.next, seq-1)
		}
	}
	records, err := r.topic.records(m, meta)
	records = slices.DeleteFunc(records, func(x topic.Record) bool { return !r.wants(&x) })
	if err != nil || len(records) > 0 {
		if !r.put(item{records, min(size(records, len(m.Data())), r.room), err}) {
			return r.ctx.Err()
		}
	}
	r.next = seq + 1
	return nil
}

// size is what a message takes in the queue: its records, decompressed, or their share of its data.
func size(records []topic.Record, data int) int64 {
	n := int64(data) + 1
	sum := int64(1)
	for i := range records {
		sum += int64(len(records[i].Data))
	}
	return max(n, sum)
}

func (r *reader) wants(x *topic.Record) bool {
	from := r.from[x.Partition]
	return from >= 0 && x.Position >= from
}

// put waits for room in the queue; it is false when the reader was closed instead.
func (r *reader) put(i item) bool {
	if r.ahead.Acquire(r.ctx, i.size) != nil {
		return false
	}
	select {
	case r.queue <- i:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// passGap tells Fetch about messages from next up to before that retention has dropped unread, and steps over them.
// Without any it does nothing: a gap in the positions may also be the partitions that are not read.
func (r *reader) passGap(before int64) error {
	stream, err := r.topic.js.Stream(r.ctx, r.topic.cfg.Name)
	if err != nil {
		return fmt.Errorf("look for dropped records: %w", err)
	}
	state := &stream.CachedInfo().State
	if r.next > int64(state.LastSeq)+1 { // a server that is behind, or a stream that has lost its end
		return fmt.Errorf("%w: it ends at position %d", topic.ErrBeyondEnd, r.topic.begin(state.LastSeq+1))
	}
	first := min(int64(state.FirstSeq), before)
	start := r.topic.begin(uint64(first))
	for p, from := range r.from {
		wanted := max(from, r.topic.begin(uint64(r.next)))
		if from < 0 || wanted >= start {
			continue
		}
		if !r.put(item{err: &topic.ErrTruncated{Partition: p, From: wanted, Start: start}}) {
			return r.ctx.Err()
		}
	}
	r.next = max(r.next, first)
	return nil
}

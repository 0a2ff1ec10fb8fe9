package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/produce"

	"refrain/internal/retry"
	"refrain/topic"
)

const (
	// maxInFlight bounds the bytes of a topic that are sent and not yet acknowledged, all appends together.
	maxInFlight = 32 << 20
	// batchBytes bounds a batch of several records, before compression; a larger record goes alone.
	batchBytes = 1 << 20
	// requestBytes bounds the batches of one request; a larger one goes alone.
	requestBytes = 4 << 20
)

// coding is how batches of codedBytes or more are compressed: docs/design/0017-kafka-topics.md has what was measured. In a
// smaller one there is little to gain, and whoever packs or unpacks it makes room for two blocks of lz4, of 4 MiB each.
const (
	coding     = protocol.Lz4
	codedBytes = 4 << 10
)

// ErrNotAcknowledged says that an append took longer than Config.Delta. Its records are in the topic or not, and may still
// get there.
var ErrNotAcknowledged = errors.New("append not acknowledged in time")

// Append implements topic.Topic. Each broker gets one request at a time, with the next batch of every partition that it
// leads; a partition's next batch is sent when the one before is durable. Only what certainly was not written is sent again,
// with the same stamp and within Config.Delta; anything else is the caller's to repeat, with a new stamp.
func (t *Topic) Append(ctx context.Context, records []topic.Record) error {
	if err := t.append(ctx, records); err != nil {
		return fmt.Errorf("append to topic %s: %w", t.cfg.Name, err)
	}
	return nil
}

func (t *Topic) append(ctx context.Context, records []topic.Record) error {
	if err := topic.CheckPartitions(records, t.cfg.Partitions); err != nil {
		return err
	}
	for i := range records {
		if n := len(records[i].Data); n > t.cfg.MaxRecord {
			return fmt.Errorf("record %d: %w: %d bytes, it may have %d", i, topic.ErrTooLarge, n, t.cfg.MaxRecord)
		}
	}
	if err := cmp.Or(ctx.Err(), t.link.refusal()); err != nil || len(records) == 0 {
		return err
	}
	w := work{}
	now := t.cfg.Now()
	for i := range records {
		w.add(records[i].Partition, t.encode(&records[i], now), encodedSize(&records[i]))
	}
	_, err := t.link.write(ctx, w, t.inFlight)
	if err == nil {
		t.appended.Add(w.bytes())
	}
	return err
}

// batch is what is written to a partition at once.
type batch struct {
	records []protocol.Record
	size    int
}

func (b *batch) coding() protocol.Attributes {
	if b.size < codedBytes {
		return 0
	}
	return coding
}

// work is what is still to be written, by partition, in order.
type work map[int][]batch

func (w work) add(partition int, r protocol.Record, size int) {
	batches := w[partition]
	if n := len(batches); n > 0 && batches[n-1].size+size <= batchBytes {
		last := &batches[n-1]
		last.records, last.size = append(last.records, r), last.size+size
		return
	}
	w[partition] = append(batches, batch{[]protocol.Record{r}, size})
}

func (w work) bytes() (sum int64) {
	for _, batches := range w {
		for i := range batches {
			sum += int64(batches[i].size)
		}
	}
	return sum
}

// acknowledged is what the brokers say of what they have written.
type acknowledged struct {
	mu   sync.Mutex
	time time.Time // of the append, by the broker's clock, where the topic's stamps are the broker's
}

// write writes all of w, within Config.Delta.
func (l *link) write(ctx context.Context, w work, room weighted) (*acknowledged, error) {
	delta := l.cluster.cfg.Delta
	ctx, cancel := context.WithTimeoutCause(ctx, delta, fmt.Errorf("%w: %v", ErrNotAcknowledged, delta))
	defer cancel()
	out, pauses := &acknowledged{}, retry.Quick()
	rest := w.clone()
	for {
		err := l.attempt(ctx, rest, room, out)
		if err == nil {
			l.note("append", nil)
			return out, nil
		}
		explained := l.explainAppend(ctx, err)
		l.note("append", explained)
		if !refused(err) {
			return nil, explained
		}
		l.refresh(err)
		if retry.Sleep(ctx, pauses.NextBackOff()) != nil {
			return nil, fmt.Errorf("%w; last: %w", context.Cause(ctx), explained)
		}
	}
}

func (w work) clone() work {
	out := make(work, len(w))
	for p, batches := range w {
		out[p] = batches
	}
	return out
}

// weighted is a semaphore.
type weighted interface {
	Acquire(ctx context.Context, n int64) error
	Release(n int64)
}

// refused reports whether nothing of a request was written, so that it may be sent again.
func refused(err error) bool { return moved(err) || errors.Is(err, kafka.NotEnoughReplicas) }

// attempt sends what is in w to the leaders, and takes out of it what is durable. Where it fails for several reasons, one
// that is not worth another attempt comes first.
func (l *link) attempt(ctx context.Context, w work, room weighted, ack *acknowledged) error {
	leaders, err := l.leaders(ctx)
	if err != nil {
		return err
	}
	byLeader := map[int32]work{}
	for p, batches := range w {
		if p >= len(leaders) || leaders[p] < 0 {
			return fmt.Errorf("partition %d: %w", p, kafka.LeaderNotAvailable)
		}
		if byLeader[leaders[p]] == nil {
			byLeader[leaders[p]] = work{}
		}
		byLeader[leaders[p]][p] = batches
	}
	var (
		senders sync.WaitGroup
		mu      sync.Mutex
		worst   error
	)
	for _, part := range byLeader {
		senders.Go(func() {
			err := l.send(ctx, part, room, ack)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && (worst == nil || refused(worst)) {
				worst = err
			}
		})
	}
	senders.Wait()
	for _, part := range byLeader {
		for p := range part {
			if w[p] = part[p]; len(w[p]) == 0 {
				delete(w, p)
			}
		}
	}
	return worst
}

// send writes what one broker leads, one request after the other. It leaves in w what is not durable.
func (l *link) send(ctx context.Context, w work, room weighted, ack *acknowledged) error {
	for {
		r, size := l.request(ctx, w)
		if r == nil {
			return nil
		}
		if err := l.produce(ctx, r, min(int64(size), maxInFlight), room, w, ack); err != nil {
			return err
		}
	}
}

// request makes one of the next batches of as many partitions as fit.
func (l *link) request(ctx context.Context, w work) (*produce.Request, int) {
	var parts []produce.RequestPartition
	size := 0
	for p, batches := range w {
		if len(batches) == 0 || size > 0 && size+batches[0].size > requestBytes {
			continue
		}
		size += batches[0].size
		parts = append(parts, produce.RequestPartition{Partition: int32(p), RecordSet: protocol.RecordSet{
			Attributes: batches[0].coding(), Records: protocol.NewRecordReader(clone(batches[0].records)...),
		}})
	}
	if parts == nil {
		return nil, 0
	}
	timeout := l.cluster.cfg.Delta
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(time.Millisecond, time.Until(deadline))
	}
	return &produce.Request{Acks: int16(kafka.RequireAll), Timeout: int32(timeout.Milliseconds()),
		Topics: []produce.RequestTopic{{Topic: l.topic, Partitions: parts}}}, size
}

// clone gives a request readers of its own: the library reads them to the end.
func clone(records []protocol.Record) []protocol.Record {
	out := make([]protocol.Record, len(records))
	for i, r := range records {
		out[i] = r
		out[i].Key, out[i].Value = again(r.Key), again(r.Value)
	}
	return out
}

func again(b protocol.Bytes) protocol.Bytes {
	type seeker interface {
		Seek(offset int64, whence int) (int64, error)
	}
	if s, ok := b.(seeker); ok {
		_, _ = s.Seek(0, 0) // it is in memory
	}
	return b
}

func (l *link) produce(ctx context.Context, r *produce.Request, size int64, room weighted, w work, ack *acknowledged) error {
	if err := room.Acquire(ctx, size); err != nil {
		return err
	}
	defer room.Release(size)
	m, err := l.roundTrip(ctx, r)
	if err != nil {
		return err
	}
	res := m.(*produce.Response)
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != len(r.Topics[0].Partitions) {
		return errors.New("an answer to another question")
	}
	for i := range res.Topics[0].Partitions {
		p := &res.Topics[0].Partitions[i]
		if p.ErrorCode != 0 {
			if err == nil || refused(err) { // see attempt
				err = fmt.Errorf("partition %d: %w", p.Partition, withMessage(kafka.Error(p.ErrorCode), p.ErrorMessage))
			}
			continue
		}
		if len(w[int(p.Partition)]) == 0 {
			return errors.New("an answer to another question")
		}
		w[int(p.Partition)] = w[int(p.Partition)][1:]
		ack.note(p.LogAppendTime)
	}
	return err
}

func withMessage(err error, message string) error {
	if message == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, message)
}

func (a *acknowledged) note(ms int64) {
	if ms > 0 {
		a.mu.Lock()
		a.time = time.UnixMilli(ms)
		a.mu.Unlock()
	}
}

// explainAppend gives an error the name of its cause, where there is one.
func (l *link) explainAppend(ctx context.Context, err error) error {
	is := func(codes ...kafka.Error) bool {
		for _, c := range codes {
			if errors.Is(err, c) {
				return true
			}
		}
		return false
	}
	switch {
	case is(kafka.MessageSizeTooLarge, kafka.RecordListTooLarge):
		return fmt.Errorf("%w for max.message.bytes of topic %s: %w", topic.ErrTooLarge, l.topic, err)
	case is(kafka.KafkaStorageError, kafka.PolicyViolation):
		return fmt.Errorf("%w: the brokers cannot write, look at their disks and logs: %w", topic.ErrFull, err)
	case is(kafka.InvalidTimestamp):
		return fmt.Errorf("the broker's clock differs from ours by more than %v, or the request was under way for so long: "+
			"compare the clocks: %w", l.cluster.cfg.Delta, err)
	case is(kafka.NotEnoughReplicas, kafka.NotEnoughReplicasAfterAppend):
		return fmt.Errorf("topic %s has fewer in-sync replicas than min.insync.replicas: start the brokers that are down: %w",
			l.topic, err)
	case is(kafka.TopicAuthorizationFailed):
		return l.denied("Write", err)
	case ctx.Err() != nil && !errors.Is(err, topic.ErrClosed):
		return context.Cause(ctx)
	}
	return l.explain(err)
}

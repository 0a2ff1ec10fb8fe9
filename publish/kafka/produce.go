package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"refrain/internal/retry"
	"refrain/internal/tracing"
	"refrain/publish"
)

const (
	// requestBytes bounds the events of one request, before compression: brokers refuse more than a MiB in one by
	// default. A larger event goes alone.
	requestBytes = 900 << 10
	// answerTimeout is how long the brokers may take for one request, all replicas included.
	answerTimeout = 15 * time.Second
	// retryTimeout is how long Publish tries again by itself, which repeats what failed and no more.
	retryTimeout = 10 * time.Second
)

// Publish implements publish.Sink. It returns nil when all in-sync replicas have everything; what is in doubt is
// written again, so that events may be there twice, with the same id.
func (s *Sink) Publish(ctx context.Context, events []publish.Event) (err error) {
	ctx, end := startSpan(ctx, s.cfg.Topic, events)
	defer func() { end(err) }()
	todo := events
	attempt := func() (struct{}, error) {
		unwritten, err := s.try(ctx, todo)
		todo = unwritten
		if err != nil && !temporary(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}
	_, err = backoff.Retry(ctx, attempt, backoff.WithBackOff(retry.Quick()), backoff.WithMaxElapsedTime(retryTimeout))
	if err != nil {
		return fmt.Errorf("write %d of %d events to topic %s: %w", len(todo), len(events), s.cfg.Topic, s.conn.Explain(err))
	}
	return nil
}

// temporary reports whether trying the same again at once may help: when the network failed, or the brokers say so.
func temporary(err error) bool {
	var code kafka.Error
	return !errors.As(err, &code) || code.Temporary() || code == kafka.BrokerNotAvailable
}

// try writes events, the partitions at once, and returns those that are not written.
func (s *Sink) try(ctx context.Context, events []publish.Event) ([]publish.Event, error) {
	byPartition, err := s.deal(ctx, events)
	if err != nil {
		return events, err
	}
	var (
		left  []publish.Event
		errs  []error
		mu    sync.Mutex
		tries sync.WaitGroup
	)
	for partition, dealt := range byPartition {
		tries.Go(func() {
			unwritten, err := s.write(ctx, partition, dealt)
			mu.Lock()
			defer mu.Unlock()
			left, errs = append(left, unwritten...), append(errs, err)
		})
	}
	tries.Wait()
	return left, errors.Join(errs...)
}

// deal sorts events by the partition of their key, the one that Java's client takes. Their order stays.
func (s *Sink) deal(ctx context.Context, events []publish.Event) (map[int][]publish.Event, error) {
	m, err := s.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{s.cfg.Topic}})
	if err == nil {
		err = m.Topics[0].Error
	}
	if err != nil {
		return nil, fmt.Errorf("look the topic up: %w", err)
	}
	dealt := map[int][]publish.Event{}
	for i := range events {
		p := partitionOf(events[i].Key, len(m.Topics[0].Partitions))
		dealt[p] = append(dealt[p], events[i])
	}
	return dealt, nil
}

func partitionOf(key string, partitions int) int {
	numbers := make([]int, partitions)
	for i := range numbers {
		numbers[i] = i
	}
	return kafka.Murmur2Balancer{Consistent: true}.Balance(kafka.Message{Key: []byte(key)}, numbers...)
}

// write writes events to one partition, in order, and returns those that are not written.
func (s *Sink) write(ctx context.Context, partition int, events []publish.Event) ([]publish.Event, error) {
	for len(events) > 0 {
		n := countFitting(events)
		if err := s.produce(ctx, partition, events[:n]); err != nil {
			return events, err
		}
		events = events[n:]
	}
	return nil, nil
}

// countFitting is how many events go into one request.
func countFitting(events []publish.Event) int {
	bytes := 0
	for i := range events {
		bytes += len(events[i].Data) + len(events[i].Key) + 400 // headers and framing, about
		if bytes > requestBytes && i > 0 {
			return i
		}
	}
	return len(events)
}

// produce makes one request. When the brokers find it too large it is halved, down to the event that is.
func (s *Sink) produce(ctx context.Context, partition int, events []publish.Event) error {
	err := s.send(ctx, partition, events)
	if !errors.Is(err, kafka.MessageSizeTooLarge) && !errors.Is(err, kafka.RecordListTooLarge) {
		return err
	}
	if len(events) == 1 {
		return s.deadLetter(&events[0], err)
	}
	half := len(events) / 2
	if err := s.produce(ctx, partition, events[:half]); err != nil {
		return err
	}
	return s.produce(ctx, partition, events[half:])
}

func (s *Sink) send(ctx context.Context, partition int, events []publish.Event) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	res, err := s.client.Produce(ctx, &kafka.ProduceRequest{
		Topic: s.cfg.Topic, Partition: partition, RequiredAcks: kafka.RequireAll, Compression: kafka.Lz4,
		Records: s.records(ctx, events),
	})
	if err != nil {
		return fmt.Errorf("partition %d: %w", partition, err)
	}
	if res.Error != nil {
		return fmt.Errorf("partition %d: %w", partition, res.Error)
	}
	return nil
}

// records are events as the CloudEvents binding wants them.
func (s *Sink) records(ctx context.Context, events []publish.Event) kafka.RecordReader {
	now := time.Now()
	ours := tracing.Of(ctx)
	out := make([]kafka.Record, len(events))
	for i := range events {
		headers, value := s.content(&events[i])
		out[i] = kafka.Record{
			Time: now, Key: protocol.NewBytes([]byte(events[i].Key)), Value: protocol.NewBytes(value),
			Headers: traced(headers, events[i].Trace, ours),
		}
	}
	return kafka.NewRecordReader(out...)
}

// deadLetter gives an event up.
func (s *Sink) deadLetter(e *publish.Event, cause error) error {
	reason := fmt.Sprintf("%d bytes: %v (max.message.bytes of topic %s)", len(e.Data), cause, s.cfg.Topic)
	s.cfg.Logger.Error("kafka: event is too large for the topic", "sink", s.cfg.Name, "id", e.ID, "place", e.Offset,
		"error", cause)
	if s.cfg.DeadLetters == nil {
		return nil
	}
	if err := s.cfg.DeadLetters.Write("kafka "+s.cfg.Name+" "+e.Offset, reason, e.Data); err != nil {
		return fmt.Errorf("dead letter of %s: %w", e.ID, err)
	}
	return nil
}

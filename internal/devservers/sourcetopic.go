package devservers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// SourceTopic is a topic of posts on Kafka, which a service reads as the group of the same name.
type SourceTopic struct {
	TB         testing.TB
	Brokers    []string
	Name       string
	Partitions int
}

// NewSourceTopic makes a topic of four partitions.
func NewSourceTopic(tb testing.TB, brokers ...string) *SourceTopic {
	tb.Helper()
	s := &SourceTopic{TB: tb, Brokers: brokers, Name: Name(tb), Partitions: 4}
	CreateTopic(tb, brokers[0], s.Name, s.Partitions)
	return s
}

// YAML is the source's configuration.
func (s *SourceTopic) YAML() string {
	return fmt.Sprintf("ingest:\n  kafka:\n  - {brokers: [%s], topics: [%s], group: %[2]s}\n", strings.Join(s.Brokers, ", "), s.Name)
}

// Write writes posts batch by batch, each next post into the next partition. before is called with the number of the last post of
// each batch.
func (s *SourceTopic) Write(ctx context.Context, lines [][]byte, batch int, before func(last int)) {
	transport := new(kafka.Transport) // the library's own may have looked for topics before this one was made
	defer transport.CloseIdleConnections()
	w := &kafka.Writer{Addr: kafka.TCP(s.Brokers...), Topic: s.Name, RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond,
		BatchSize: batch, Balancer: kafka.BalancerFunc(func(m kafka.Message, all ...int) int { return all[int(m.Offset)%len(all)] }),
		Transport: transport}
	defer func() {
		if err := w.Close(); err != nil {
			s.TB.Error(err)
		}
	}()
	for i := 0; i < len(lines); i += batch {
		var messages []kafka.Message
		for j, line := range lines[i:min(i+batch, len(lines))] {
			messages = append(messages, kafka.Message{Value: line, Offset: int64((i + j) % s.Partitions)})
		}
		before(i + len(messages) - 1)
		if err := w.WriteMessages(ctx, messages...); err != nil {
			s.TB.Error(err)
			return
		}
	}
}

// Committed is up to how many records the group has committed its offsets, which it does when they are durable.
func (s *SourceTopic) Committed() (sum int) {
	client := &kafka.Client{Addr: kafka.TCP(s.Brokers...), Timeout: 5 * time.Second}
	ask := &kafka.OffsetFetchRequest{GroupID: s.Name, Topics: map[string][]int{}}
	for p := range s.Partitions {
		ask.Topics[s.Name] = append(ask.Topics[s.Name], p)
	}
	got, err := client.OffsetFetch(s.TB.Context(), ask)
	if err != nil {
		return 0
	}
	for _, p := range got.Topics[s.Name] {
		sum += int(max(0, p.CommittedOffset))
	}
	return sum
}

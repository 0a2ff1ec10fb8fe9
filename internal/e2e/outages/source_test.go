package outages

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/internal/devservers"
)

// sourceTopic is a topic of posts on a broker of its own.
type sourceTopic struct {
	t          *testing.T
	addr, name string
	partitions int
}

func newSourceTopic(t *testing.T) *sourceTopic {
	s := &sourceTopic{t: t, addr: devservers.StartKafka(t).Addr(), name: devservers.Name(t), partitions: 4}
	devservers.CreateTopic(t, s.addr, s.name, s.partitions)
	return s
}

// yaml is the source's configuration.
func (s *sourceTopic) yaml() string {
	return fmt.Sprintf("ingest:\n  kafka:\n  - {brokers: [%s], topics: [%s], group: %[2]s}\n", s.addr, s.name)
}

// send writes posts when they are due, in order in each partition.
func (s *sourceTopic) send(ctx context.Context, posts []post) {
	w := &kafka.Writer{Addr: kafka.TCP(s.addr), Topic: s.name, RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond,
		BatchSize: clientBatch, Balancer: kafka.BalancerFunc(func(m kafka.Message, all ...int) int { return all[int(m.Offset)%len(all)] })}
	defer w.Close()
	for i := 0; i < len(posts); i += clientBatch {
		var batch []kafka.Message
		for j, p := range posts[i:min(i+clientBatch, len(posts))] {
			batch = append(batch, kafka.Message{Value: p.line, Offset: int64((i + j) % s.partitions)})
		}
		sleepUntil(ctx, posts[i+len(batch)-1].due)
		if err := w.WriteMessages(ctx, batch...); err != nil {
			s.t.Error(err)
			return
		}
	}
}

// committed is how many records the group has done.
func (s *sourceTopic) committed() (sum int) {
	client := &kafka.Client{Addr: kafka.TCP(s.addr), Timeout: 5 * time.Second}
	ask := &kafka.OffsetFetchRequest{GroupID: s.name, Topics: map[string][]int{}}
	for p := range s.partitions {
		ask.Topics[s.name] = append(ask.Topics[s.name], p)
	}
	got, err := client.OffsetFetch(s.t.Context(), ask)
	if err != nil {
		return 0
	}
	for _, p := range got.Topics[s.name] {
		sum += int(max(0, p.CommittedOffset))
	}
	return sum
}

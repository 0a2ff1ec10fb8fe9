package devservers

import (
	"context"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// CreateTopic creates a topic and returns when each of its partitions takes records.
func CreateTopic(tb testing.TB, addr, name string, partitions int) {
	tb.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(addr), Transport: transport, Timeout: 10 * time.Second}
	res, err := client.CreateTopics(tb.Context(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: name, NumPartitions: partitions, ReplicationFactor: 1}},
	})
	if err == nil {
		err = res.Errors[name]
	}
	if err != nil {
		tb.Fatalf("create topic %s: %v", name, err)
	}
	awaitLeaders(tb, client, name, partitions)
}

// awaitLeaders asks until the broker leads all partitions: it answers CreateTopics a little before.
func awaitLeaders(tb testing.TB, client *kafka.Client, name string, partitions int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second)
	defer cancel()
	for again := time.NewTicker(20 * time.Millisecond); ; {
		n, err := led(ctx, client, name)
		if n == partitions {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			tb.Fatalf("topic %s: %d of %d partitions have a leader: %v", name, n, partitions, err)
		}
	}
}

// led counts the partitions of a topic whose leader has their log open: it knows where they begin.
func led(ctx context.Context, client *kafka.Client, name string) (n int, err error) {
	meta, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{name}})
	if err != nil || len(meta.Topics) == 0 {
		return 0, err
	}
	var asks []kafka.OffsetRequest
	for _, p := range meta.Topics[0].Partitions {
		asks = append(asks, kafka.FirstOffsetOf(p.ID))
	}
	if len(asks) == 0 {
		return 0, meta.Topics[0].Error
	}
	res, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{name: asks}})
	if err != nil {
		return 0, err
	}
	for _, p := range res.Topics[name] {
		if err = p.Error; err == nil {
			n++
		}
	}
	return n, err
}

package kafka_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"refrain/internal/devservers"
	"refrain/topic"
	"refrain/topic/conformance"
)

// MustDrop drops what lies below an offset of partition 0, as retention does.
func MustDrop(tb testing.TB, addr, name string, before int64) {
	tb.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	req := kmsg.NewDeleteRecordsRequest()
	req.TimeoutMillis = 10_000
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: name,
		Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: before}}}}
	for _, shard := range client.RequestSharded(tb.Context(), &req) {
		if shard.Err != nil {
			tb.Fatal(shard.Err)
		}
	}
}

// TestTruncated: what retention has dropped before it was read is reported once, and reading goes on behind it.
func TestTruncated(t *testing.T) {
	addr := devservers.Kafka(t)
	x := MustOpenTopic(t, MustOpen(t, []string{addr}), onePartition)
	for i := range 10 {
		conformance.MustAppend(t, x, topic.Record{Data: fmt.Append(nil, i)})
	}
	MustDrop(t, addr, x.Name(), 6)
	r := conformance.MustOpen(t, x, 2)
	var gap *topic.ErrTruncated
	if _, err := r.Fetch(t.Context()); !errors.As(err, &gap) || *gap != (topic.ErrTruncated{From: 2, Start: 6}) {
		t.Fatalf("got %v, want a gap from 2 to 6", err)
	}
	if got := conformance.MustFetch(t, r, 4); string(got[0].Data) != "6" {
		t.Errorf("then %q, want 6", got[0].Data)
	}
}

// TestLargeValues: many large values, read anew by another process.
func TestLargeValues(t *testing.T) {
	name, addr := devservers.Name(t), []string{devservers.Kafka(t)}
	open := func() topic.Store {
		s, err := MustOpen(t, addr).OpenStore(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	value := func(i int) []byte { return bytes.Repeat(fmt.Append(nil, i), 500_000) }
	for i := range 20 {
		conformance.MustPut(t, s, fmt.Sprint("shard/", i%4), value(i))
	}
	s = open()
	for i := range 4 {
		conformance.MustGet(t, s, fmt.Sprint("shard/", i), value(16+i))
	}
}

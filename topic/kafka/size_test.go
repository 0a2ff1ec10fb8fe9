package kafka_test

import (
	"testing"
	"time"

	"refrain/internal/devservers"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/kafka"
)

func TestSize(t *testing.T) {
	c := MustOpen(t, []string{devservers.Kafka(t)})
	x := MustOpenTopic(t, c, func(c *kafka.TopicConfig) { c.MaxBytes = 3 << 30 })
	empty, err := x.Size(t.Context())
	if err != nil || empty != (topic.Size{MaxBytes: 3 << 30}) {
		t.Errorf("empty: got %+v, %v", empty, err)
	}
	stamp := time.Now().Add(-time.Second).Truncate(time.Millisecond).UTC()
	conformance.MustAppend(t, x, topic.Record{Partition: 2, Time: stamp, Data: []byte("a")}, topic.Record{Data: []byte("b")})
	got, err := x.Size(t.Context())
	if err != nil || got.Records != 2 || got.Bytes < 100 || got.Bytes > 1000 || !got.Oldest.Equal(stamp) || got.Dropped != 0 ||
		got.Appended < 2 {
		t.Errorf("got %+v, %v, want two records, the oldest of %v", got, err, stamp)
	}
}

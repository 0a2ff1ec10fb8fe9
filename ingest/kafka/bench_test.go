package kafka

import (
	"fmt"
	"testing"

	"github.com/segmentio/kafka-go"
)

// BenchmarkSource is the rate of posts of 300 bytes from 4 partitions, lz4 as producers often have it, acknowledged
// at once; broker and reader share the machine.
func BenchmarkSource(b *testing.B) {
	c, topic := shared(b, 4)
	const chunk = 1000
	for written := 0; written < b.N; written += chunk {
		var records []kafka.Record
		for i := range chunk {
			records = append(records, value(fmt.Sprintf(`{"id":"%d","source":"bench","author":"author%d","lang":"en",`+
				`"created_at":"2024-05-01T12:%02d:%02dZ","text":"post %d says %x that the quick brown fox jumps over the lazy `+
				`dog near the river bank while nobody is looking at it today","likes":%d}`,
				written+i, i%97, i/60%60, i%60, i, written*i*7919, i)))
		}
		_, err := c.client.Produce(b.Context(), &kafka.ProduceRequest{Topic: topic, Partition: written / chunk % 4,
			RequiredAcks: kafka.RequireAll, Compression: kafka.Lz4, Records: kafka.NewRecordReader(records...)})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	s := mustOpen(b, c.config(topic))
	for n := 0; n < b.N; {
		batch := next(b, s)
		n += len(batch.Posts)
		batch.Done(nil)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "posts/s")
}

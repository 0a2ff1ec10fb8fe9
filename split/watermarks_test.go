package split

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// BenchmarkTick is a second of a writer with 1,000 source partitions, in 32 partitions.
func BenchmarkTick(b *testing.B) {
	bench := newBench(b, 32)
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprint("kafka/posts/", i))
	}
	if err := bench.split.Expect(context.Background(), names); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for p := range 32 {
			bench.topic.Truncate(p, 1<<60)
		}
		bench.split.pending.Store(true)
		bench.tick(time.Second)
	}
}

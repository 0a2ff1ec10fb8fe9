package jetstream_test

import (
	"crypto/rand"
	"fmt"
	"testing"

	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/jetstream"
)

// BenchmarkRoute appends records of 50 KB, which are some 250 sentences each, eight at a time while a reader takes
// them: what a process with all roles does.
func BenchmarkRoute(b *testing.B) {
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprint("sync ", sync), func(b *testing.B) { benchmarkRoute(b, sync) })
	}
}

func benchmarkRoute(b *testing.B, sync bool) {
	x := MustOpenTopic(b, MustStart(b, func(c *jetstream.Config) { c.Sync = sync }),
		func(c *jetstream.TopicConfig) { c.Partitions, c.MaxBytes = 8, 1<<30 })
	r := conformance.MustOpen(b, x, make([]int64, 8)...)
	records := eight()
	done := make(chan error)
	go func() { done <- drain(b, r, 8*b.N) }()
	b.ResetTimer()
	for range b.N {
		conformance.MustAppend(b, x, records...)
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	report(b, 8)
}

func BenchmarkAppend(b *testing.B) {
	x := MustOpenTopic(b, MustStart(b), func(c *jetstream.TopicConfig) { c.Partitions, c.MaxBytes = 8, 1<<30 })
	records := eight()
	for b.Loop() {
		conformance.MustAppend(b, x, records...)
	}
	report(b, 8)
}

func BenchmarkFetch(b *testing.B) {
	for _, from := range [][]int64{{0, 0, 0, 0, 0, 0, 0, 0}, {0, -1, -1, -1, -1, -1, -1, -1}} {
		b.Run(fmt.Sprint("from ", from), func(b *testing.B) { benchmarkFetch(b, from) })
	}
}

// benchmarkFetch reads what is there over and over, until it has read b.N records.
func benchmarkFetch(b *testing.B, from []int64) {
	const rounds = 400
	x := MustOpenTopic(b, MustStart(b), func(c *jetstream.TopicConfig) { c.Partitions = 8 })
	records := eight()
	for range rounds {
		conformance.MustAppend(b, x, records...)
	}
	available := rounds
	if from[1] >= 0 {
		available *= 8
	}
	b.ResetTimer()
	for left := b.N; left > 0; left -= available {
		r := conformance.MustOpen(b, x, from...)
		if err := drain(b, r, min(left, available)); err != nil {
			b.Fatal(err)
		}
	}
	report(b, 1)
}

func BenchmarkBounds(b *testing.B) {
	x := MustOpenTopic(b, MustStart(b), func(c *jetstream.TopicConfig) { c.Partitions = 8 })
	for range 50 {
		conformance.MustAppend(b, x, eight()...)
	}
	for b.Loop() {
		conformance.MustBounds(b, x)
	}
}

func BenchmarkPut(b *testing.B) {
	s, err := MustStart(b).OpenStore(b.Context(), "positions")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		conformance.MustPut(b, s, "positions/1", make([]byte, 1000))
	}
}

// eight returns a record for each of eight partitions.
func eight() []topic.Record {
	var out []topic.Record
	for p := range 8 {
		data := make([]byte, 50_000)
		_, _ = rand.Read(data) // never fails
		out = append(out, topic.Record{Partition: p, Data: data})
	}
	return out
}

func drain(b *testing.B, r topic.Reader, n int) error {
	for n > 0 {
		records, err := r.Fetch(b.Context())
		if err != nil {
			return err
		}
		n -= len(records)
	}
	return nil
}

func report(b *testing.B, records int) {
	b.SetBytes(int64(records) * 50_000)
	b.ReportMetric(float64(records)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

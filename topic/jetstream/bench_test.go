package jetstream_test

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"testing"

	"refrain/internal/devservers"
	"refrain/internal/natsconn"
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

// BenchmarkCluster appends and then reads records of 50 KB on servers of others, eight at a time. "alone" is an append that
// waits for the one before, of one record: what an acknowledgement takes.
func BenchmarkCluster(b *testing.B) {
	for _, at := range []struct {
		name     string
		servers  func(testing.TB) []string
		replicas int
	}{
		{"server", func(tb testing.TB) []string { return []string{devservers.NATS(tb)} }, 1},
		{"cluster", devservers.NATS3, 1},
		{"cluster", devservers.NATS3, 3},
	} {
		b.Run(fmt.Sprintf("%s/replicas=%d", at.name, at.replicas), func(b *testing.B) {
			c := mustConnect(b, natsconn.Config{Servers: at.servers(b)}, func(c *jetstream.ClusterConfig) {
				c.Replicas, c.Logger = at.replicas, slog.New(slog.DiscardHandler)
			})
			b.Run("append", func(b *testing.B) { benchmarkCluster(b, c, eight(), false) })
			b.Run("alone", func(b *testing.B) { benchmarkCluster(b, c, eight()[:1], false) })
			b.Run("fetch", func(b *testing.B) { benchmarkCluster(b, c, eight(), true) })
		})
	}
}

func benchmarkCluster(b *testing.B, c *jetstream.Cluster, records []topic.Record, fetch bool) {
	name := devservers.Name(b)
	x := mustOpenOn(b, c, func(c *jetstream.TopicConfig) { c.Name, c.Partitions, c.MaxBytes = name, 8, 1<<30 })
	removeAfter(b, c, name)
	for range b.N {
		conformance.MustAppend(b, x, records...)
	}
	if fetch {
		b.ResetTimer()
		if err := drain(b, conformance.MustOpen(b, x, make([]int64, 8)...), len(records)*b.N); err != nil {
			b.Fatal(err)
		}
	}
	report(b, len(records))
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

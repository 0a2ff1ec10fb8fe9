package kafka_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/compress"

	"refrain/feed"
	"refrain/internal/devservers"
	"refrain/split"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/kafka"
)

// sentenceRecords are records as split makes them, of about 50 KB, of words as frequent as in a language.
func sentenceRecords(tb testing.TB, n int) []topic.Record {
	tb.Helper()
	cfg := topic.DefaultMemory()
	cfg.MaxFetch = 1 << 20
	memory := topic.NewMemory(cfg)
	c := split.Default()
	c.Sentences, c.Logger = memory, slog.New(slog.DiscardHandler)
	s, err := split.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	words := rand.NewZipf(r, 1.2, 3, 50_000)
	for i := range n {
		var batch []feed.Post
		for j := range 125 {
			var text bytes.Buffer
			for range 5 + r.IntN(20) {
				fmt.Fprintf(&text, "w%s ", fmt.Sprintf("%012x", words.Uint64()*2654435761)[6:9+r.IntN(4)])
			}
			batch = append(batch, feed.Post{ID: fmt.Sprint(1_000_000_000 + 1000*i + j), Author: fmt.Sprint(r.IntN(10000)),
				Text: text.String(), Timed: true, Time: feed.FromTime(time.Now())})
		}
		if err := s.Write(tb.Context(), batch, "s"); err != nil {
			tb.Fatal(err)
		}
	}
	reader := conformance.MustOpen(tb, memory, 0)
	var out []topic.Record
	for len(out) < n {
		records, err := reader.Fetch(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		for _, x := range records {
			if len(x.Data) > 10_000 { // no watermark
				out = append(out, topic.Record{Data: x.Data})
			}
		}
	}
	return out[:n]
}

// BenchmarkCodings packs and unpacks one record with each of Kafka's compressions; "size" is what is left.
func BenchmarkCodings(b *testing.B) {
	data := sentenceRecords(b, 1)[0].Data
	for _, c := range []compress.Compression{compress.Snappy, compress.Lz4, compress.Zstd, compress.Gzip} {
		codec := c.Codec()
		var packed bytes.Buffer
		pack := func(to io.Writer) {
			w := codec.NewWriter(to)
			_, err := w.Write(data)
			if e := w.Close(); err != nil || e != nil {
				b.Fatal(err, e)
			}
		}
		pack(&packed)
		b.Run(c.String()+"/pack", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				pack(io.Discard)
			}
			b.ReportMetric(float64(packed.Len())/float64(len(data)), "size")
		})
		b.Run(c.String()+"/unpack", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				r := codec.NewReader(bytes.NewReader(packed.Bytes()))
				if _, err := io.Copy(io.Discard, r); err != nil {
					b.Fatal(err)
				}
				_ = r.Close()
			}
		})
	}
}

// BenchmarkAppend appends 32 records, one for each partition, as one batch of split does.
func BenchmarkAppend(b *testing.B) {
	brokers(b, func(b *testing.B, addr []string) {
		x := MustOpenTopic(b, MustOpen(b, addr), func(c *kafka.TopicConfig) { c.Partitions = 32 })
		records := spread(sentenceRecords(b, 32))
		b.SetBytes(bytesOf(records))
		b.ResetTimer()
		for b.Loop() {
			conformance.MustAppend(b, x, records...)
		}
		b.ReportMetric(float64(32*b.N)/b.Elapsed().Seconds(), "records/s")
	})
}

// BenchmarkRead reads records that are all there.
func BenchmarkRead(b *testing.B) {
	brokers(b, func(b *testing.B, addr []string) {
		x := MustOpenTopic(b, MustOpen(b, addr), func(c *kafka.TopicConfig) { c.Partitions = 32 })
		records := spread(sentenceRecords(b, 32))
		const rounds = 50
		for range rounds {
			conformance.MustAppend(b, x, records...)
		}
		b.SetBytes(rounds * bytesOf(records))
		b.ResetTimer()
		for b.Loop() {
			r, err := x.Open(b.Context(), make([]int64, 32))
			if err != nil {
				b.Fatal(err)
			}
			conformance.MustFetch(b, r, rounds*32)
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(rounds*32*b.N)/b.Elapsed().Seconds(), "records/s")
	})
}

// BenchmarkBounds asks for the ends of 32 partitions.
func BenchmarkBounds(b *testing.B) {
	brokers(b, func(b *testing.B, addr []string) {
		x := MustOpenTopic(b, MustOpen(b, addr), func(c *kafka.TopicConfig) { c.Partitions = 32 })
		for b.Loop() {
			conformance.MustBounds(b, x)
		}
	})
}

// BenchmarkStore puts a state of 1.6 kB, and gets one of another process.
func BenchmarkStore(b *testing.B) {
	brokers(b, func(b *testing.B, addr []string) {
		name := devservers.Name(b)
		var stores [2]*kafka.Store
		for i := range stores {
			s, err := MustOpen(b, addr).OpenStore(b.Context(), name)
			if err != nil {
				b.Fatal(err)
			}
			stores[i] = s
		}
		value := make([]byte, 1600)
		b.Run("put", func(b *testing.B) {
			for b.Loop() {
				conformance.MustPut(b, stores[0], "shard/0/1", value)
			}
		})
		b.Run("get", func(b *testing.B) {
			for b.Loop() {
				conformance.MustGet(b, stores[1], "shard/0/1", value)
			}
		})
	})
}

func brokers(b *testing.B, run func(b *testing.B, addr []string)) {
	b.Run("one broker", func(b *testing.B) { run(b, []string{devservers.Kafka(b)}) })
	b.Run("three brokers", func(b *testing.B) { run(b, devservers.Kafka3(b)) })
}

func spread(records []topic.Record) []topic.Record {
	for i := range records {
		records[i].Partition = i
	}
	return records
}

func bytesOf(records []topic.Record) (n int64) {
	for i := range records {
		n += int64(len(records[i].Data))
	}
	return n
}

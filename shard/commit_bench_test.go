package shard

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"refrain/internal/sim"
	"refrain/text"
	"refrain/topic"
	"refrain/topic/jetstream"
)

// BenchmarkCommit stores the states of 32 partitions in a bucket on the disk, with an end of the event topic that is to be
// asked for: the current ones alone, as 59 seconds of a minute do, and with the older ones beside them.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 100} {
		for _, older := range []bool{false, true} {
			b.Run(fmt.Sprintf("writers=%d/keep=%v", writers, older), func(b *testing.B) { benchmarkCommit(b, writers, older) })
		}
	}
}

func benchmarkCommit(b *testing.B, writers int, older bool) {
	const partitions = 32
	cfg := jetstream.Default()
	cfg.Dir, cfg.Logger = b.TempDir(), slog.New(slog.DiscardHandler)
	s := must(jetstream.Start(cfg))
	defer s.Close()
	events := jetstream.DefaultTopic()
	events.Name, events.Packed, events.Logger = "events", true, cfg.Logger
	c := Default()
	c.Sentences, c.Events = newOrdered(partitions), must(s.OpenTopic(b.Context(), events))
	c.Store, c.Span, c.Owned = must(s.OpenStore(b.Context(), "state")), time.Hour, Owners(partitions, 1)[0]
	c.Rows = func(int) (Rows, error) { return sim.NewBrute(text.DefaultThreshold, time.Hour, 0, sim.RetainAll), nil }
	now := time.Now()
	c.Now, c.Logger = func() time.Time { return now }, cfg.Logger
	w := must(Open(b.Context(), c))
	defer w.Close()
	for _, q := range w.owned {
		for p := range partitions {
			q.state.LookupFrom[p] = 1 << 30
			for i := range writers {
				q.state.Watermarks.observe(p, now.UnixNano(),
					&topic.Watermark{Writer: uint64(i), Source: "some partition", Time: 1_700_000_000_000})
			}
		}
	}
	w.olderTurn = now.UnixNano() / c.OlderInterval.Nanoseconds()
	for b.Loop() {
		if w.moved, w.outbox.known = true, nil; older {
			w.olderTurn--
		}
		if err := w.commit(context.Background(), 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(w.owned[0].state.Append(nil))), "B/state")
}

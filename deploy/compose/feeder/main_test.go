package main

import (
	"context"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/demo"
	"refrain/feed"
	"refrain/internal/devservers"
)

// TestPostsArrive reads from Kafka what the feeder wrote, as Refrain does.
func TestPostsArrive(t *testing.T) {
	broker, topic := devservers.Kafka(t), devservers.Name(t)
	devservers.CreateTopic(t, broker, topic, 1)
	out := &kafka.Writer{
		Addr: kafka.TCP(broker), Topic: topic, Balancer: &kafka.Hash{}, RequiredAcks: kafka.RequireAll,
		BatchTimeout: time.Millisecond,
	}
	cfg := demo.Default()
	cfg.Seed, cfg.Start, cfg.Rate = 7, feed.FromTime(time.Now()), 1000
	const n = 120
	if err := write(t.Context(), out, cfg, n); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	in := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{broker}, Topic: topic, MaxWait: 50 * time.Millisecond})
	defer in.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	want, err := demo.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		m, err := in.ReadMessage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got, note, err := feed.DecodePost(m.Value, nil)
		if p, _ := want.Next(); err != nil || note != "" || got.ID != p.ID || got.Text != p.Text || got.Time != p.Time ||
			got.Author != p.Author || got.Lang != p.Lang || got.Source != "demo" {
			t.Fatalf("post %d: %+v, %s, %v\nwant %+v", i, got, note, err, p)
		}
	}
}

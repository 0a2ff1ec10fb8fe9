package jetstream_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"refrain/topic"
	"refrain/topic/jetstream"
)

// TestAppendsKeepThePace: however fast they come, no more than the pace and its burst gets into the server, which keeps what
// came within ten seconds on the heap. The wait obeys the context.
func TestAppendsKeepThePace(t *testing.T) {
	const pace, record = 64 << 10, 32 << 10
	cfg := jetstream.Default()
	cfg.Dir, cfg.Logger, cfg.Pace = t.TempDir(), slog.New(slog.DiscardHandler), pace
	server, err := jetstream.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	named := jetstream.DefaultTopic()
	named.Name = "events"
	top, err := server.OpenTopic(t.Context(), named)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	data := make([]byte, record)
	rand.Read(data)
	n := 0
	for top.Append(ctx, []topic.Record{{Data: data}}) == nil {
		n++
	}
	if most := int((2+time.Since(began).Seconds())*pace/record) + 1; n < 2 || n > most {
		t.Errorf("%d records of %d bytes in %v, want 2 to %d", n, record, time.Since(began), most)
	}
}

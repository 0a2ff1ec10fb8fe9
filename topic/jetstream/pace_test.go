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

const pacedRecord = 32 << 10

// TestAppendsKeepThePace: however fast they come, no more than the pace and its burst gets into the server, which keeps what
// came within ten seconds on the heap. The wait obeys the context.
func TestAppendsKeepThePace(t *testing.T) {
	data := make([]byte, pacedRecord)
	rand.Read(data)
	keepsPace(t, data, pacedRecord)
}

// TestAppendsKeepThePaceOfReaders: what is stored in next to nothing counts by what readers have to carry.
func TestAppendsKeepThePaceOfReaders(t *testing.T) {
	keepsPace(t, make([]byte, pacedRecord), pacedRecord/4)
}

// keepsPace wants records that count so much to wait for each other.
func keepsPace(t *testing.T, data []byte, counts int) {
	const pace = 64 << 10
	cfg := jetstream.Default()
	cfg.Dir, cfg.Logger, cfg.Pace = t.TempDir(), slog.New(slog.DiscardHandler), pace
	server, err := jetstream.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	named := jetstream.DefaultTopic()
	named.Name, named.Coding = "events", jetstream.Zstd
	top, err := server.OpenTopic(t.Context(), named)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	n := 0
	for top.Append(ctx, []topic.Record{{Data: data}}) == nil {
		n++
	}
	if most := int((2+time.Since(began).Seconds())*pace/float64(counts)) + 1; n < 2 || n > most {
		t.Errorf("%d records of %d bytes in %v, want 2 to %d", n, len(data), time.Since(began), most)
	}
}

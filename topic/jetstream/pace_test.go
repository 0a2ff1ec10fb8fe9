package jetstream_test

import (
	"context"
	"crypto/rand"
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
	checkPace(t, data, pacedRecord)
}

// TestAppendsKeepThePaceOfReaders: what is stored in next to nothing counts by what readers have to carry.
func TestAppendsKeepThePaceOfReaders(t *testing.T) {
	checkPace(t, make([]byte, pacedRecord), pacedRecord/4)
}

// checkPace appends records until the context ends, and wants no more of them than the pace allows, each counting so much.
func checkPace(t *testing.T, data []byte, counts int) {
	t.Helper()
	const pace = 64 << 10
	server := MustStart(t, func(c *jetstream.Config) { c.Pace = pace })
	to := MustOpenTopic(t, server, func(c *jetstream.TopicConfig) { c.Coding = jetstream.Zstd })
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	n := 0
	for to.Append(ctx, []topic.Record{{Data: data}}) == nil {
		n++
	}
	if maxRecords := int((2+time.Since(began).Seconds())*pace/float64(counts)) + 1; n < 2 || n > maxRecords {
		t.Errorf("%d records of %d bytes in %v, want 2 to %d", n, len(data), time.Since(began), maxRecords)
	}
}

package jetstream_test

import (
	"testing"
	"time"

	"refrain/topic"
	"refrain/topic/jetstream"
)

// TestSizeCountsWhatIsAppended: every record takes at least its data, and the limit is the configured one.
func TestSizeCountsWhatIsAppended(t *testing.T) {
	to := MustOpenTopic(t, MustStart(t), func(c *jetstream.TopicConfig) { c.MaxBytes = 1 << 20 })
	if err := to.Append(t.Context(), []topic.Record{{Data: make([]byte, 1000)}, {Data: make([]byte, 500)}}); err != nil {
		t.Fatal(err)
	}
	got, err := to.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Appended != got.Bytes || got.Dropped != 0 || time.Since(got.Oldest) > time.Minute {
		t.Errorf("got %+v: what was appended is what is there", got)
	}
	if got.Records != 2 || got.MaxBytes != 1<<20 || got.Bytes < 1500 || got.Bytes > 2000 {
		t.Errorf("got %+v, want 2 records of 1500 bytes and their headers", got)
	}
}

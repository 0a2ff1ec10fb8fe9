package plan_test

import (
	"testing"
	"time"

	"refrain/plan"
)

// TestDisk follows the bytes of the topics by hand: 8,640,000 sentences a day, kept for two days, or purged after one.
func TestDisk(t *testing.T) {
	f, m, c := simple()
	f.MaxHold = 47*time.Hour - f.Span
	f.EventsPerSentence, c.RecordShare, c.EventBytes, c.EventShare = 0.25, 0.5, 960, 0.1
	r, err := plan.Plan(f, m, c)
	if err != nil {
		t.Fatal(err)
	}
	const day, record, event = 8_640_000, 100, 100 // 0.5 * (100 + 8*10 + 20), 0.1 * (960 + 2*20)
	near(t, "sentences", r.TopicBytes, 2*day*record)
	near(t, "sentences, purged", r.PurgedBytes, day*record)
	near(t, "events", r.EventBytes, 2*day*event/4)
	near(t, "topics.sentence_bytes", r.SentenceLimit, 2.2*day*record)
	near(t, "topics.event_bytes", r.EventLimit, 2.2*day*event/4)
	near(t, "a worker", r.DiskPerWorker*float64(r.Workers), r.TopicBytes+r.EventBytes)
}

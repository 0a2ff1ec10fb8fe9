package plan_test

import (
	"testing"
	"time"

	"refrain/plan"
)

// TestDisk follows the bytes by hand: 8,640,000 sentences a day, kept for two days, or purged after one; the index has events
// of 5/4 of a span of 16/17 of a day.
func TestDisk(t *testing.T) {
	f, m, c := simple()
	f.MaxHold = 47*time.Hour - f.Span
	f.EventsPerSentence, c.RecordShare, c.EventBytes, c.EventShare = 0.25, 0.5, 960, 0.1
	c.IndexBytes, c.LetterBytes = 170, 1e9
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
	near(t, "index", r.IndexBytes, 5./4*day*160/4)
	near(t, "dead letters", r.LetterBytes, 1e9)
	near(t, "all", r.Disk, r.TopicBytes+r.EventBytes+r.IndexBytes+1e9*float64(r.Workers))
	near(t, "a worker", r.DiskPerWorker*float64(r.Workers), r.Disk)
}

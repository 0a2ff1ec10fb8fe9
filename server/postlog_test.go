package server

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"refrain/ingest"
)

// TestRejectionsDoNotFloodTheLog: however many posts are rejected, in however many batches, the log has a bounded number of
// lines a second, and says of how many posts it does not speak.
func TestRejectionsDoNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		n := newPostLog(slog.New(slog.NewTextHandler(&log, nil)))
		one := &ingest.Batch{Rejected: []ingest.Rejection{{Location: "line 1", Reason: "no post"}}}
		large := &ingest.Batch{Rejected: make([]ingest.Rejection, 1000), Notes: make([]ingest.Note, 1000)}
		for range 5000 {
			n.batch(one)
		}
		for range 10 {
			n.batch(large)
		}
		if lines := strings.Count(log.String(), "\n"); lines != postLineBurst {
			t.Errorf("%d lines at once, want %d", lines, postLineBurst)
		}
		log.Reset()
		time.Sleep(time.Second)
		n.batch(one)
		if got := log.String(); !strings.Contains(got, "posts=24900") || strings.Count(got, "\n") != 2 {
			t.Errorf("a second later: %s", got)
		}
	})
}

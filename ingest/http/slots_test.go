package http

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestOnlyWaitingForTheClientIsSlow: an upload that waited for the service is not the slow one; a client that was waited
// for is.
func TestOnlyWaitingForTheClientIsSlow(t *testing.T) {
	now := time.Unix(0, 0)
	p := newUploadSlots(2, newMetrics())
	p.now = func() time.Time { return now }
	control := http.NewResponseController(httptest.NewRecorder())
	slot, slow := p.acquire(t.Context(), 0), p.acquire(t.Context(), 0)
	slot.begin(control)
	slot.end(64 << 10)
	slow.begin(control)
	now = now.Add(10 * slowAfter) // the service has had no room for the first one's posts
	slot.begin(control)
	now = now.Add(time.Millisecond)
	p.evictSlowest()
	p.evictSlowest() // another one, if there is one
	if slot.end(0) {
		t.Error("an upload is cut off that the service was busy with")
	}
	if !slow.end(1) {
		t.Error("a client that sends nothing keeps its place")
	}
}

package http

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"refrain/internal/places"
)

// TestOnlyWaitingForTheClientIsSlow: an upload that waited for the service is not the slow one; a client that was waited
// for is.
func TestOnlyWaitingForTheClientIsSlow(t *testing.T) {
	now := time.Unix(0, 0)
	p := newUploadSlots(2, newMetrics())
	p.now = func() time.Time { return now }
	control := http.NewResponseController(httptest.NewRecorder())
	slot, slow := p.acquire(t.Context(), "a", 0), p.acquire(t.Context(), "b", 0)
	slot.begin(control)
	slot.end(64 << 10)
	slow.begin(control)
	now = now.Add(10 * slowAfter) // the service has had no room for the first one's posts
	slot.begin(control)
	now = now.Add(time.Millisecond)
	p.evictSlowest(anyUpload)
	p.evictSlowest(anyUpload) // another one, if there is one
	if slot.end(0) {
		t.Error("an upload is cut off that the service was busy with")
	}
	if !slow.end(1) {
		t.Error("a client that sends nothing keeps its place")
	}
}

// TestClientsShareTheSlots: who has all that it may have leaves some for others, and gets on when one of its own is free.
func TestClientsShareTheSlots(t *testing.T) {
	p := newUploadSlots(16, newMetrics())
	acquire := func(client string) *uploadSlot { return p.acquire(t.Context(), client, 0) }
	var first *uploadSlot
	for i := range 20 {
		at := acquire("a")
		if (at != nil) != (i < 12) {
			t.Errorf("upload %d of a: has a slot: %v", i, at != nil)
		}
		if i == 0 {
			first = at
		}
	}
	for _, step := range []struct {
		client string
		ok     bool
	}{{"b", true}, {"b", true}, {"b", false}, {"c", true}, {"a", false}, {"d", true}, {"e", false}} {
		if at := acquire(step.client); (at != nil) != step.ok {
			t.Errorf("%s has a slot: %v", step.client, at != nil)
		}
	}
	p.release(first)
	if acquire("a") == nil {
		t.Error("no slot for a though one of its own is free")
	}
}

// TestOthersKeepTheirSlots: a client that has its share and wants more loses a slow upload of its own, and nobody else does.
func TestOthersKeepTheirSlots(t *testing.T) {
	now := time.Unix(0, 0)
	p := newUploadSlots(4, newMetrics())
	p.now = func() time.Time { return now }
	acquire := func(client string) *uploadSlot { return p.acquire(t.Context(), client, 0) }
	other, all := acquire("b"), []*uploadSlot{acquire("a"), acquire("a")}
	control := http.NewResponseController(httptest.NewRecorder())
	other.begin(control)
	now = now.Add(10 * slowAfter)
	if acquire("a") != nil {
		t.Error("a has more than its share")
	}
	if other.end(0) {
		t.Error("a slow upload of b makes room for another of a")
	}
	for _, at := range all {
		at.begin(control)
	}
	now = now.Add(10 * slowAfter)
	if acquire("a") != nil {
		t.Error("a has more than its share")
	}
	if first, second := all[0].end(0), all[1].end(0); first == second {
		t.Errorf("evicted of a's own: %v, %v, want one", first, second)
	}
}

// TestClientOf: one client is who presents a token, from wherever, or else who comes from one address, by whatever connection.
func TestClientOf(t *testing.T) {
	from := func(address, sender string) string {
		r := httptest.NewRequest("POST", "/v1/posts", nil)
		r.RemoteAddr = address
		return places.Client(r, sender)
	}
	if a, b := from("192.0.2.1:1", "token:a"), from("192.0.2.2:1", "token:a"); a != b || a == from("192.0.2.1:1", "token:b") {
		t.Errorf("with tokens: %q, %q", a, b)
	}
	if a, b := from("[2001:db8::1]:1", ""), from("[2001:db8::1]:2", ""); a != b || a == from("[2001:db8::2]:1", "") {
		t.Errorf("without: %q, %q", a, b)
	}
}

package webhook

import (
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	// outageAfter deliveries, each another, that fail with no success between them say that the endpoint is down. Of
	// an endpoint that fails one request in five, one such run comes in three thousand requests.
	outageAfter = 5
	// maxPause is the longest pause between two probes of an endpoint that is down.
	maxPause = time.Minute
	// maxRetryAfter bounds what an endpoint may ask for.
	maxRetryAfter = time.Hour
)

// outage is what is known of an endpoint as a whole from the failures since its last success.
type outage struct {
	streak map[*delivery]bool
	since  time.Time // the first of these failures
	down   bool      // one delivery at a time
	slowed bool      // only because the endpoint has asked for it; it may well take others
	probe  time.Time // not before then
	pause  time.Duration
}

// failed notes a failure. refused: the endpoint's address is not allowed, which no other delivery will change.
func (o *outage) failed(d *delivery, now time.Time, status int, refused bool) {
	if len(o.streak) == 0 {
		o.streak, o.since = make(map[*delivery]bool), now
	}
	if !o.isOut() {
		o.streak[d] = true
		out := refused || len(o.streak) >= outageAfter
		o.slowed = !out && (o.slowed || asksForLess(status))
		o.down = out || o.slowed
	}
	if !o.down || now.Before(o.probe) { // the latter began before the outage was known
		return
	}
	o.pause = min(max(2*o.pause, time.Second), maxPause)
	if refused {
		o.pause = maxPause
	}
	o.probe = now.Add(min(jitter(o.pause), maxPause))
}

// isOut says that the endpoint is down, and not only slowed.
func (o *outage) isOut() bool { return o.down && !o.slowed }

// asksForLess is true for the answers that say that an endpoint, or what stands before it, gets too much: the Standard
// Webhooks specification ("Responding to webhooks") has senders slow down for them, and five in a row would be four too many.
func asksForLess(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusBadGateway || status == http.StatusGatewayTimeout
}

// jitter is a pause give or take a fifth, so that what failed together does not come back together.
func jitter(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))
}

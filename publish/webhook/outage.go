package webhook

import (
	"math/rand/v2"
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
	down   bool
	probe  time.Time // not before then
	pause  time.Duration
}

// failed notes a failure. refused: the endpoint's address is not allowed, which no other delivery will change.
func (o *outage) failed(d *delivery, now time.Time, refused bool) {
	if len(o.streak) == 0 {
		o.streak, o.since = make(map[*delivery]bool), now
	}
	if !o.down {
		o.streak[d] = true
		o.down = refused || len(o.streak) >= outageAfter
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

// jitter is a pause give or take a fifth, so that what failed together does not come back together.
func jitter(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))
}

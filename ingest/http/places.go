package http

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// errSlow ends an upload whose place another needs.
var errSlow = errors.New("upload cut off: slow, and another waits for its place")

// An upload may be slow as long as there are places. When there are none, the slowest gives its own up, if it was waited
// for longer than slowAfter, and has sent less than slowRate in that time: so nobody holds them all by sending next to
// nothing. What an upload itself waits for, while the service is busy, is not held against it.
const (
	slowRate  = 16 << 10 // bytes a second
	slowAfter = 5 * time.Second
	slowAgain = 500 * time.Millisecond // is looked for a slow one while somebody waits
)

// places are for uploads that are read. All methods may be called by several goroutines.
type places struct {
	free    chan struct{}
	metrics metrics
	now     func() time.Time

	mu    *sync.Mutex
	taken map[*place]bool
}

func newPlaces(n int, m metrics) places {
	return places{free: make(chan struct{}, n), metrics: m, now: time.Now, mu: new(sync.Mutex), taken: map[*place]bool{}}
}

// place is that of one upload.
type place struct {
	now func() time.Time

	mu      sync.Mutex
	control *http.ResponseController // nil: it is not being read
	since   time.Time                // it is, since then
	waited  time.Duration            // for the client before that, all together
	bytes   int64
	lost    bool
}

// take waits for a place, and has the slowest upload give up its own. It is nil if there is none within patience.
func (p *places) take(ctx context.Context, patience time.Duration) *place {
	select {
	case p.free <- struct{}{}:
		return p.add()
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(slowAgain)
	defer again.Stop()
	for {
		p.cutSlowest()
		select {
		case p.free <- struct{}{}:
			return p.add()
		case <-again.C:
		case <-ctx.Done():
			p.metrics.refused.Add(context.WithoutCancel(ctx), 1)
			return nil
		}
	}
}

func (p *places) add() *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &place{now: p.now}
	p.taken[at] = true
	return at
}

func (p *places) leave(at *place) {
	p.mu.Lock()
	delete(p.taken, at)
	p.mu.Unlock()
	<-p.free
}

// cutSlowest ends the slowest upload, if it is slow at all.
func (p *places) cutSlowest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var slowest *place
	var least float64 = slowRate
	for at := range p.taken {
		if rate, ok := at.rate(p.now()); ok && rate < least {
			slowest, least = at, rate
		}
	}
	if slowest != nil && slowest.cut() {
		p.metrics.cut.Add(context.Background(), 1)
	}
}

// rate is that of an upload which is old enough to have one, and which waits for its client.
func (at *place) rate(now time.Time) (bytes float64, ok bool) {
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.control == nil || at.lost {
		return 0, false
	}
	waited := at.waited + now.Sub(at.since)
	return float64(at.bytes) / waited.Seconds(), waited >= slowAfter
}

// cut ends the read under way, if there is one.
func (at *place) cut() bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.control == nil {
		return false
	}
	at.lost = true
	return at.control.SetReadDeadline(time.Now()) == nil
}

// begin says that the client is waited for.
func (at *place) begin(control *http.ResponseController) {
	at.mu.Lock()
	defer at.mu.Unlock()
	at.control, at.since = control, at.now()
}

// end says that n bytes have come; it is true if the place is lost.
func (at *place) end(n int) (lost bool) {
	at.mu.Lock()
	defer at.mu.Unlock()
	at.control, at.bytes, at.waited = nil, at.bytes+int64(n), at.waited+at.now().Sub(at.since)
	return at.lost
}

// metrics count the uploads that were refused and cut off.
type metrics struct{ refused, cut metric.Int64Counter }

func newMetrics() metrics {
	meter := otel.Meter("refrain/ingest/http")
	refused, err := meter.Int64Counter("refrain_ingest_http_refused",
		metric.WithDescription("Uploads refused because there were as many as limits.uploads, or held as much as limits.upload_bytes."))
	if err != nil {
		otel.Handle(err) // the instrument still works as a no-op
	}
	cut, err := meter.Int64Counter("refrain_ingest_http_cut",
		metric.WithDescription("Uploads cut off because they were slow and another waited for a place."))
	if err != nil {
		otel.Handle(err)
	}
	return metrics{refused, cut}
}

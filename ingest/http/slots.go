package http

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"refrain/internal/meters"
)

// errEvicted ends an upload whose slot another needs.
var errEvicted = errors.New("upload cut off: slow, and another waits for its place")

// An upload may be slow as long as there are free slots. When there are none, the slowest is evicted, if it was waited
// for longer than slowAfter, and has sent less than slowRate in that time: so nobody holds them all by sending next to
// nothing. What an upload itself waits for, while the service is busy, is not held against it.
const (
	slowRate      = 16 << 10 // bytes a second
	slowAfter     = 5 * time.Second
	evictInterval = 500 * time.Millisecond // how often a slow one is looked for while somebody waits
)

// uploadSlots are the slots of uploads under way. All methods may be called by several goroutines.
type uploadSlots struct {
	free    chan struct{}
	metrics metrics
	now     func() time.Time

	mu    *sync.Mutex
	inUse map[*uploadSlot]bool
}

func newUploadSlots(n int, m metrics) uploadSlots {
	return uploadSlots{
		free: make(chan struct{}, n), metrics: m, now: time.Now, mu: new(sync.Mutex), inUse: map[*uploadSlot]bool{},
	}
}

// uploadSlot is the slot of one upload.
type uploadSlot struct {
	now func() time.Time

	mu      sync.Mutex
	control *http.ResponseController // nil: it is not being read
	since   time.Time                // it is, since then
	waited  time.Duration            // for the client before that, all together
	bytes   int64
	evicted bool
}

// acquire waits for a slot, and evicts the slowest upload for it. It returns nil if there is none within patience.
func (p *uploadSlots) acquire(ctx context.Context, patience time.Duration) *uploadSlot {
	select {
	case p.free <- struct{}{}:
		return p.add()
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(evictInterval)
	defer tick.Stop()
	for {
		p.evictSlowest()
		select {
		case p.free <- struct{}{}:
			return p.add()
		case <-tick.C:
		case <-ctx.Done():
			p.metrics.refused.Add(context.WithoutCancel(ctx), 1)
			return nil
		}
	}
}

func (p *uploadSlots) add() *uploadSlot {
	p.mu.Lock()
	defer p.mu.Unlock()
	slot := &uploadSlot{now: p.now}
	p.inUse[slot] = true
	return slot
}

func (p *uploadSlots) release(slot *uploadSlot) {
	p.mu.Lock()
	delete(p.inUse, slot)
	p.mu.Unlock()
	<-p.free
}

// evictSlowest evicts the slowest upload, if it is slow at all.
func (p *uploadSlots) evictSlowest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var slowest *uploadSlot
	var minRate float64 = slowRate
	for slot := range p.inUse {
		if rate, ok := slot.rate(p.now()); ok && rate < minRate {
			slowest, minRate = slot, rate
		}
	}
	if slowest != nil && slowest.evict() {
		p.metrics.evicted.Add(context.Background(), 1)
	}
}

// rate is that of an upload which is old enough to have one, and which waits for its client.
func (slot *uploadSlot) rate(now time.Time) (bytes float64, ok bool) {
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if slot.control == nil || slot.evicted {
		return 0, false
	}
	waited := slot.waited + now.Sub(slot.since)
	return float64(slot.bytes) / waited.Seconds(), waited >= slowAfter
}

// evict ends the read under way, if there is one.
func (slot *uploadSlot) evict() bool {
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if slot.control == nil {
		return false
	}
	slot.evicted = true
	return slot.control.SetReadDeadline(time.Now()) == nil
}

// begin says that the client is waited for.
func (slot *uploadSlot) begin(control *http.ResponseController) {
	slot.mu.Lock()
	defer slot.mu.Unlock()
	slot.control, slot.since = control, slot.now()
}

// end says that n bytes have come; it is true if the upload was evicted.
func (slot *uploadSlot) end(n int) (evicted bool) {
	slot.mu.Lock()
	defer slot.mu.Unlock()
	slot.control, slot.bytes, slot.waited = nil, slot.bytes+int64(n), slot.waited+slot.now().Sub(slot.since)
	return slot.evicted
}

// metrics count the uploads that were refused and cut off.
type metrics struct{ refused, evicted metric.Int64Counter }

func newMetrics() metrics {
	const scope = "refrain/ingest/http"
	return metrics{
		refused: meters.Counter(scope, "refrain_ingest_http_refused",
			"Uploads refused because there were as many as limits.uploads, or held as much as limits.upload_bytes."),
		evicted: meters.Counter(scope, "refrain_ingest_http_cut",
			"Uploads cut off because they were slow and another waited for a place."),
	}
}

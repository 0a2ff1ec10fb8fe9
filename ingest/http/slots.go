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

// uploadSlots are the slots of uploads under way. A quarter of them is reserved for clients that have less than an eighth, as
// in the queue: so who fills the others does not shut the door. All methods may be called by several goroutines.
type uploadSlots struct {
	shared, reserved chan struct{} // as full as there are slots in use
	metrics          metrics
	now              func() time.Time

	mu    sync.Mutex
	inUse map[*uploadSlot]bool
	asks  map[string]int // by client, uploads that have a slot or wait for one
}

func newUploadSlots(n int, m metrics) *uploadSlots {
	return &uploadSlots{
		shared: make(chan struct{}, n-n/4), reserved: make(chan struct{}, n/4), metrics: m, now: time.Now,
		inUse: map[*uploadSlot]bool{}, asks: map[string]int{},
	}
}

// uploadSlot is the slot of one upload.
type uploadSlot struct {
	client string
	of     chan struct{} // shared or reserved
	now    func() time.Time

	mu      sync.Mutex
	control *http.ResponseController // nil: it is not being read
	since   time.Time                // it is, since then
	waited  time.Duration            // for the client before that, all together
	bytes   int64
	evicted bool
}

// acquire waits for a slot, and evicts the slowest upload for it. It returns nil if there is none within patience.
func (p *uploadSlots) acquire(ctx context.Context, client string, patience time.Duration) *uploadSlot {
	reserved := p.ask(client)
	for _, of := range []chan struct{}{p.shared, reserved} {
		select {
		case of <- struct{}{}:
			return p.add(client, of)
		default:
		}
	}
	return p.await(ctx, client, reserved, patience)
}

// ask counts an upload of a client in. It returns the slots that it may have besides the shared ones; nil: none.
func (p *uploadSlots) ask(client string) (reserved chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asks[client]++
	if all := cap(p.shared) + cap(p.reserved); p.asks[client] > max(1, all/8) {
		return nil
	}
	return p.reserved
}

// await is acquire where no slot is free. Who has a share already evicts its own: those of others make no room for it.
func (p *uploadSlots) await(ctx context.Context, client string, reserved chan struct{}, patience time.Duration) *uploadSlot {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(evictInterval)
	defer tick.Stop()
	for {
		p.evictSlowest(func(slot *uploadSlot) bool { return reserved != nil || slot.client == client })
		select {
		case p.shared <- struct{}{}:
			return p.add(client, p.shared)
		case reserved <- struct{}{}:
			return p.add(client, reserved)
		case <-tick.C:
		case <-ctx.Done():
			p.metrics.refused.Add(context.WithoutCancel(ctx), 1)
			p.leave(client)
			return nil
		}
	}
}

func (p *uploadSlots) add(client string, of chan struct{}) *uploadSlot {
	p.mu.Lock()
	defer p.mu.Unlock()
	slot := &uploadSlot{client: client, of: of, now: p.now}
	p.inUse[slot] = true
	return slot
}

// leave counts an upload of a client out.
func (p *uploadSlots) leave(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asks[client]--; p.asks[client] == 0 {
		delete(p.asks, client)
	}
}

func (p *uploadSlots) release(slot *uploadSlot) {
	p.leave(slot.client)
	p.mu.Lock()
	delete(p.inUse, slot)
	p.mu.Unlock()
	<-slot.of
}

func anyUpload(*uploadSlot) bool { return true }

// evictSlowest evicts the slowest of some uploads, if it is slow at all.
func (p *uploadSlots) evictSlowest(among func(*uploadSlot) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var slowest *uploadSlot
	var minRate float64 = slowRate
	for slot := range p.inUse {
		if !among(slot) {
			continue
		}
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
			"Uploads refused because there were as many as limits.uploads, or as one client may have of them, or held as "+
				"much as limits.upload_bytes."),
		evicted: meters.Counter(scope, "refrain_ingest_http_cut",
			"Uploads cut off because they were slow and another waited for a place."),
	}
}

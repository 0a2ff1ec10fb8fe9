package http

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"refrain/ingest"
	"refrain/internal/places"
	"refrain/internal/tracing"
)

var (
	errBusy     = errors.New("queue full")
	errStopping = errors.New("shutting down")
)

// queue holds the batches of all requests, and deals with their senders in turn, by bytes: whoever sends little waits
// for the batch that is under way, and for as many bytes of each of the others as he sends himself, however large
// their batches and however small his own. A quarter of its slots is only for senders that have few, so that one who
// fills the queue does not shut it for the next.
type queue struct {
	max int

	mu      sync.Mutex
	unacked map[string]int // by sender, batches that are not yet acknowledged
	total   int            // of them
	waiting map[string][]ingest.Batch
	turns   []string         // senders with a batch that waits, who came first before who came later
	spent   map[string]int64 // by sender, bytes handed on, counted from begun: the least of those that wait is next
	// begun is what the sender of the batch handed on last had spent before it, the virtual time of fair queueing: who
	// has sent nothing meanwhile begins with it, and has saved up nothing.
	begun   int64
	changed chan struct{} // closed, and made anew, when a slot comes free or a batch comes
}

func newQueue(limit int) *queue {
	return &queue{
		max: limit, unacked: map[string]int{}, waiting: map[string][]ingest.Batch{}, spent: map[string]int64{},
		changed: make(chan struct{}),
	}
}

// reserve gets a slot for a batch of a sender; false, and what to wait for, when there is none.
func (q *queue) reserve(sender string) (bool, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.hasSlot(sender) {
		return false, q.changed
	}
	q.unacked[sender]++
	q.total++
	return true, nil
}

func (q *queue) hasSlot(sender string) bool {
	return places.Free(q.max, q.total, q.unacked[sender])
}

// release gives a slot back.
func (q *queue) release(sender string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.total--
	if q.unacked[sender]--; q.unacked[sender] == 0 {
		delete(q.unacked, sender)
	}
	if q.total == 0 { // nobody waited for what was sent
		clear(q.spent)
	}
	q.announce()
}

// add puts a batch behind those of its sender, which has a slot for it.
func (q *queue) add(b ingest.Batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting[b.Sender]) == 0 {
		q.turns = append(q.turns, b.Sender)
		q.spent[b.Sender] = max(q.spent[b.Sender], q.begun)
	}
	q.waiting[b.Sender] = append(q.waiting[b.Sender], b)
	q.announce()
}

// next removes the batch whose turn it is; false, and what to wait for, when there is none.
func (q *queue) next() (ingest.Batch, bool, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 {
		return ingest.Batch{}, false, q.changed
	}
	sender := slices.MinFunc(q.turns, func(a, b string) int { return cmp.Compare(q.spent[a], q.spent[b]) })
	all := q.waiting[sender]
	q.begun = q.spent[sender]
	q.spent[sender] += cost(&all[0])
	q.turns = slices.DeleteFunc(q.turns, func(s string) bool { return s == sender })
	if q.waiting[sender] = all[1:]; len(all) > 1 {
		q.turns = append(q.turns, sender)
	} else {
		delete(q.waiting, sender)
	}
	q.prune()
	return all[0], true, nil
}

// prune removes the senders that have nothing waiting, and less behind them than the next one has.
func (q *queue) prune() {
	maps.DeleteFunc(q.spent, func(sender string, n int64) bool { return len(q.waiting[sender]) == 0 && n <= q.begun })
}

// cost is what a batch costs those behind it, about: bytes.
func cost(b *ingest.Batch) int64 {
	n := int64(postOverhead) * int64(1+len(b.Posts)+len(b.Rejected)+len(b.Deleted))
	for i := range b.Posts {
		n += int64(len(b.Posts[i].Text))
	}
	for i := range b.Rejected {
		n += int64(len(b.Rejected[i].Raw))
	}
	return n
}

func (q *queue) announce() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// send queues one batch as soon as there is a slot for it. The channel it returns yields one value, the
// acknowledgement, and may be dropped. done is called when the batch is acknowledged.
func (h *Source) send(ctx context.Context, b *ingest.Batch, failed *atomic.Bool, done func()) (<-chan error, error) {
	if err := h.acquire(ctx, b.Sender); err != nil {
		return nil, err
	}
	acked, sender := make(chan error, 1), b.Sender
	b.Partition, b.Trace = Partition, tracing.Of(ctx)
	b.OnAck(context.WithoutCancel(ctx), func(err error) {
		h.queue.release(sender)
		done()
		acked <- err
		if err != nil {
			failed.Store(true)
		}
	})
	b.Void = failed.Load
	h.queue.add(*b)
	return acked, nil
}

// acquire waits for a slot in the queue, no longer than the configured patience.
func (h *Source) acquire(ctx context.Context, sender string) error {
	patience := time.NewTimer(h.cfg.Patience)
	defer patience.Stop()
	for {
		select {
		case <-h.quit:
			return errStopping
		default:
		}
		ok, changed := h.queue.reserve(sender)
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-patience.C:
			return errBusy
		case <-h.quit:
			return errStopping
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Next implements ingest.Source. It returns io.EOF once Shutdown has been called and everything accepted is handed on.
func (h *Source) Next(ctx context.Context) (ingest.Batch, error) {
	for {
		b, ok, changed := h.queue.next()
		if ok {
			return b, nil
		}
		select {
		case <-changed:
		case <-h.done:
			return h.nextQueued()
		case <-ctx.Done():
			return ingest.Batch{}, ctx.Err()
		}
	}
}

// nextQueued hands on what was queued before the last request ended.
func (h *Source) nextQueued() (ingest.Batch, error) {
	if b, ok, _ := h.queue.next(); ok {
		return b, nil
	}
	return ingest.Batch{}, io.EOF
}

package http

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"refrain/ingest"
)

var (
	errBusy     = errors.New("queue full")
	errStopping = errors.New("shutting down")
)

// send queues one batch as soon as there is a slot for it. The channel it returns yields one value, the
// acknowledgement, and may be dropped.
func (h *Source) send(ctx context.Context, b *ingest.Batch, failed *atomic.Bool) (<-chan error, error) {
	if err := h.acquire(ctx); err != nil {
		return nil, err
	}
	acked := make(chan error, 1)
	b.Partition, b.Trace = Partition, traceparent(ctx)
	b.OnAck(context.WithoutCancel(ctx), func(err error) {
		<-h.slots
		acked <- err
		if err != nil {
			failed.Store(true)
		}
	})
	b.Void = failed.Load
	h.queue <- *b // a slot is held: there is room
	return acked, nil
}

// acquire waits for a slot, no longer than the configured patience.
func (h *Source) acquire(ctx context.Context) error {
	patience := time.NewTimer(h.cfg.Patience)
	defer patience.Stop()
	select {
	case <-h.quit:
		return errStopping
	default:
	}
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-patience.C:
		return errBusy
	case <-h.quit:
		return errStopping
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Next implements ingest.Source. It returns io.EOF once Shutdown has been called and everything accepted is handed on.
func (h *Source) Next(ctx context.Context) (ingest.Batch, error) {
	select {
	case b := <-h.queue:
		return b, nil
	default:
	}
	select {
	case b := <-h.queue:
		return b, nil
	case <-h.done:
		return h.rest()
	case <-ctx.Done():
		return ingest.Batch{}, ctx.Err()
	}
}

// rest hands on what was queued before the last request ended.
func (h *Source) rest() (ingest.Batch, error) {
	select {
	case b := <-h.queue:
		return b, nil
	default:
		return ingest.Batch{}, io.EOF
	}
}

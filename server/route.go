package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/propagation"

	"refrain/ingest"
	"refrain/internal/retry"
	"refrain/split"
)

// route carries batches of posts to split, and what is no post to the dead letters. A batch that it returns nil for is
// durable.
type route struct {
	split *split.Split
	dead  *ingest.DeadLetters
	log   *slog.Logger
}

var errOvertaken = errors.New("an earlier batch of the request is not durable")

// once carries a batch of a client that waits for the answer, and is told of a failure.
func (r *route) once(ctx context.Context, b *ingest.Batch) error {
	r.note(b)
	if err := r.dead.Write(b.Rejected); err != nil {
		return err
	}
	if b.Void != nil && b.Void() {
		return errOvertaken
	}
	return r.write(ctx, b)
}

// retried carries a batch of a source that nobody waits at: it is tried again until it is durable, or ctx ends.
func (r *route) retried(ctx context.Context, source string, b *ingest.Batch) error {
	r.note(b)
	rejected := b.Rejected
	write := func() (struct{}, error) {
		if err := r.dead.Write(rejected); err != nil {
			return struct{}{}, err
		}
		rejected = nil // once is enough
		return struct{}{}, r.write(ctx, b)
	}
	_, err := backoff.Retry(ctx, write, backoff.WithBackOff(retry.Steady()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, pause time.Duration) {
		r.log.Error("batch is not durable, to be tried again", "source", source, "error", err, "pause", pause)
	}))
	return err
}

func (r *route) write(ctx context.Context, b *ingest.Batch) error {
	// What was accepted is finished even when the process is told to stop.
	ctx = propagation.TraceContext{}.Extract(context.WithoutCancel(ctx), propagation.MapCarrier{"traceparent": b.Trace})
	if len(b.Posts) > 0 {
		if err := r.split.Write(ctx, b.Posts, b.Partition); err != nil {
			return err
		}
	}
	return r.split.Delete(ctx, b.Deleted)
}

func (r *route) note(b *ingest.Batch) {
	for _, x := range b.Rejected {
		r.log.Warn("post rejected", "place", x.Place, "reason", x.Reason)
	}
	for _, n := range b.Notes {
		r.log.Info("post changed", "place", n.Place, "change", n.Text)
	}
}

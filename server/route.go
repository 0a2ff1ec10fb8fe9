package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/propagation"

	"refrain/ingest"
	"refrain/internal/quota"
	"refrain/internal/retry"
	"refrain/split"
	"refrain/topic"
)

// route carries batches of posts to split, and what is no post to the dead letters. A batch that it returns nil for is
// durable.
type route struct {
	split *split.Split
	deletions
	dead   *ingest.DeadLetters
	quotas *quotas
	noting *noting
	roomIn func() time.Duration // until a full sentence topic may have room
	log    *slog.Logger
}

var errOvertaken = errors.New("an earlier batch of the request is not durable")

// once carries a batch of a client that waits for the answer, and is told of a failure.
func (r *route) once(ctx context.Context, b *ingest.Batch) error {
	r.noting.batch(b)
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
	r.noting.batch(b)
	rejected := b.Rejected
	write := func() (struct{}, error) {
		if err := r.dead.Write(rejected); err != nil {
			return struct{}{}, err
		}
		rejected = nil // once is enough
		return struct{}{}, r.write(ctx, b)
	}
	_, err := backoff.Retry(ctx, write, backoff.WithBackOff(retry.Steady()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, pause time.Duration) {
		r.log.Error("ingest: retrying append", "source", source, "error", err, "pause", pause)
	}))
	return err
}

func (r *route) write(ctx context.Context, b *ingest.Batch) error {
	// What was accepted is finished even when the process is told to stop.
	ctx = propagation.TraceContext{}.Extract(context.WithoutCancel(ctx), propagation.MapCarrier{"traceparent": b.Trace})
	used := map[string]quota.Usage{}
	if len(b.Posts) > 0 {
		written, err := r.split.WriteFrom(ctx, b.Sender, b.Posts, b.Partition)
		if errors.Is(err, topic.ErrFull) {
			return &ingest.NoRoomError{In: r.roomIn(), Err: err}
		}
		if err != nil {
			return err
		}
		used = written
	}
	if len(b.Deleted) > 0 {
		if err := r.deletions.write(ctx, b.Deleted); err != nil {
			return err
		}
	}
	r.quotas.charge(b, used)
	return nil
}

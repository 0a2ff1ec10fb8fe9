package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"refrain/ingest"
	"refrain/internal/quota"
	"refrain/internal/retry"
	"refrain/internal/tracing"
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
	posts  *postLog
	roomIn func() time.Duration // until a full sentence topic may have room
	log    *slog.Logger
}

var errOvertaken = errors.New("an earlier batch of the request is not durable")

// handle writes a batch of a client, which waits for the answer and is told of a failure.
func (r *route) handle(ctx context.Context, b *ingest.Batch) error {
	r.posts.batch(b)
	if err := r.dead.Write(b.Rejected); err != nil {
		return err
	}
	if b.Void != nil && b.Void() {
		return errOvertaken
	}
	return r.write(ctx, b)
}

// handleRetrying writes a batch of a source where nobody waits for an answer: again and again until it is durable, or
// ctx ends.
func (r *route) handleRetrying(ctx context.Context, source string, b *ingest.Batch) error {
	r.posts.batch(b)
	rejected := b.Rejected
	write := func() (struct{}, error) {
		if err := r.dead.Write(rejected); err != nil {
			return struct{}{}, err
		}
		rejected = nil // once is enough
		return struct{}{}, r.write(ctx, b)
	}
	_, err := backoff.Retry(ctx, write, backoff.WithBackOff(retry.Steady()), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, pause time.Duration) {
			r.log.Error("ingest: retrying append", "source", source, "error", err, "pause", pause)
		}))
	return err
}

func (r *route) write(ctx context.Context, b *ingest.Batch) error {
	// What was accepted is finished even when the process is told to stop.
	ctx = tracing.Context(context.WithoutCancel(ctx), b.Trace)
	written := split.Written{BySource: map[string]quota.Usage{}}
	if len(b.Posts) > 0 {
		var err error
		written, err = r.split.WriteFrom(ctx, b.Sender, b.Posts, b.Partition)
		if errors.Is(err, topic.ErrFull) {
			return &ingest.NoRoomError{In: r.roomIn(), Err: err}
		}
		if err != nil {
			return err
		}
	}
	if len(b.Deleted) > 0 {
		if err := r.deletions.write(ctx, b.Deleted); err != nil {
			return err
		}
	}
	r.quotas.charge(b, written)
	return nil
}

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/propagation"

	"refrain/ingest"
	"refrain/split"
	"refrain/topic"
)

// pump carries the batches of one source to split, and acknowledges each when it is durable.
type pump struct {
	name  string
	src   ingest.Source
	split *split.Split
	dead  *ingest.DeadLetters
	log   *slog.Logger
	// own: the source has clients that wait for an answer. It ends by itself when the service stops, after what
	// it has accepted, and is told of a failure. Other sources end with the context, and their batches are tried
	// again until they are durable.
	own bool
}

// run returns when the source has no more.
func (p *pump) run(ctx context.Context) error {
	if p.own {
		ctx = context.WithoutCancel(ctx)
	}
	if c, ok := p.src.(io.Closer); ok {
		defer c.Close() // there is nothing left to lose
	}
	for {
		b, err := p.src.Next(ctx)
		if !b.Empty() {
			b.Done(p.pass(ctx, &b))
		}
		switch {
		case errors.Is(err, io.EOF) || err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			p.log.Error("source ends", "source", p.name, "error", err)
			return nil
		}
	}
}

var errOvertaken = errors.New("an earlier batch of the request is not durable")

func (p *pump) pass(ctx context.Context, b *ingest.Batch) error {
	p.note(b)
	if p.own {
		if err := p.dead.Write(b.Rejected); err != nil {
			return err
		}
		if b.Void != nil && b.Void() {
			return errOvertaken
		}
		return p.write(ctx, b)
	}
	rejected := b.Rejected
	write := func() (struct{}, error) {
		if err := p.dead.Write(rejected); err != nil {
			return struct{}{}, err
		}
		rejected = nil // once is enough
		return struct{}{}, p.write(ctx, b)
	}
	_, err := backoff.Retry(ctx, write, backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, pause time.Duration) {
		p.log.Error("batch is not durable, to be tried again", "source", p.name, "error", err, "pause", pause)
	}))
	return err
}

func (p *pump) write(ctx context.Context, b *ingest.Batch) error {
	// What was accepted is finished even when the process is told to stop.
	ctx = propagation.TraceContext{}.Extract(context.WithoutCancel(ctx), propagation.MapCarrier{"traceparent": b.Trace})
	if len(b.Posts) > 0 {
		if err := p.split.Write(ctx, b.Posts, b.Partition); err != nil {
			return err
		}
	}
	return p.split.Delete(ctx, tombstones(b.Deleted))
}

func tombstones(deleted []ingest.Tombstone) []topic.Tombstone {
	out := make([]topic.Tombstone, len(deleted))
	for i, d := range deleted {
		out[i] = topic.Tombstone{Source: d.Source, Post: d.ID}
	}
	return out
}

func (p *pump) note(b *ingest.Batch) {
	for _, r := range b.Rejected {
		p.log.Warn("post rejected", "place", r.Place, "reason", r.Reason)
	}
	for _, n := range b.Notes {
		p.log.Info("post changed", "place", n.Place, "change", n.Text)
	}
}

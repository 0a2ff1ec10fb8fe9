package ingest

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

var (
	acceptedPosts = metric.WithAttributeSet(attribute.NewSet(attribute.String("result", "accepted")))
	skippedPosts  = metric.WithAttributeSet(attribute.NewSet(attribute.String("result", "skipped")))
	rejectedPosts = metric.WithAttributeSet(attribute.NewSet(attribute.String("result", "rejected")))
)

// Count adds the posts and rejections of b to refrain_ingest_posts, and its notes to refrain_ingest_changed. Every
// source calls it, if not by OnAck, for every batch that it hands on, and nobody else does: posts in = accepted + rejected.
//
// It asks for its instrument each time, which costs nothing next to a batch, so that it counts into the meter
// provider of now and not the one at program start. An empty batch makes both results appear, at 0.
func Count(ctx context.Context, b *Batch) {
	meter := otel.Meter("refrain/ingest")
	posts, err := meter.Int64Counter("refrain_ingest_posts",
		metric.WithDescription("Posts taken in, by result: accepted, rejected, or skipped: other records of a file with a preset."))
	changed, err2 := meter.Int64Counter("refrain_ingest_changed",
		metric.WithDescription("Posts accepted with a change: something replaced, or left out of meta."))
	if err := errors.Join(err, err2); err != nil {
		otel.Handle(err)
		return
	}
	posts.Add(ctx, int64(len(b.Posts)), acceptedPosts)
	posts.Add(ctx, int64(len(b.Rejected)), rejectedPosts)
	if b.Skipped > 0 {
		posts.Add(ctx, int64(b.Skipped), skippedPosts)
	}
	changed.Add(ctx, int64(len(b.Notes)))
}

// OnAck gives b its Ack. The first call counts b, if it is durable, and then acknowledges it; further calls do nothing.
// What is not durable comes again, and counts then.
func (b *Batch) OnAck(ctx context.Context, ack func(error)) {
	counted := Batch{Posts: b.Posts, Rejected: b.Rejected, Notes: b.Notes} // as it was handed on
	var once sync.Once
	b.Ack = func(err error) {
		once.Do(func() {
			if err == nil {
				Count(ctx, &counted)
			}
			ack(err)
		})
	}
}

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/feed"
	"refrain/ingest"
	"refrain/shard"
	"refrain/split"
	"refrain/topic"
)

// tombstoneShare: of the window's budget deletions have at most one in so many parts, and redeliveries another.
const tombstoneShare = 4

// sameDeletion is how long after a deletion another of the same post says nothing new. It is far below what tombstones are
// kept for, so that the second is as good as if it had been written.
const sameDeletion = time.Hour

// deletions is the door that deletions come through, from whatever source. None is ever forgotten while a topic may hold
// what it deletes, so one that there is no room for is refused.
type deletions struct {
	split   *split.Split
	known   *shard.Tombstones
	limit   int64 // bytes of those that are known; 0: none
	now     func() time.Time
	counter metric.Int64Counter
}

func newDeletions(n *node) (d deletions, err error) {
	d = deletions{split: n.split, known: n.tombstones, limit: n.tombstoneLimit(), now: n.now}
	d.counter, err = otel.Meter("refrain/ingest").Int64Counter("refrain_ingest_deletions",
		metric.WithDescription("Deletions of posts and authors by what became of them: accepted, known (of a post that "+
			"is deleted already) or refused (there is no room for more)."))
	for _, result := range []string{"accepted", "known", "refused"} {
		d.count(context.Background(), result, 0)
	}
	return d, err
}

// tombstoneLimit is how many bytes of the windows' budget deletions may hold.
func (n *node) tombstoneLimit() int64 {
	return n.window.Budget / tombstoneShare
}

// write makes deletions durable, those that say something new.
func (d *deletions) write(ctx context.Context, deleted []feed.Tombstone) error {
	since := d.now().Add(-sameDeletion)
	unknown := slices.DeleteFunc(slices.Clone(deleted), func(t feed.Tombstone) bool { return d.known.Has(t, since) })
	d.count(ctx, "known", len(deleted)-len(unknown))
	if len(unknown) == 0 {
		return nil
	}
	err := d.append(ctx, unknown)
	switch {
	case err == nil:
		d.count(ctx, "accepted", len(unknown))
	case errors.Is(err, ingest.ErrDeletionsFull):
		d.count(ctx, "refused", len(unknown))
	}
	return err
}

func (d *deletions) append(ctx context.Context, unknown []feed.Tombstone) error {
	if used := d.known.Bytes(); d.limit > 0 && used >= d.limit {
		return fmt.Errorf("%w: %d of them hold %d bytes, a quarter of window.budget", ingest.ErrDeletionsFull, d.known.Len(), used)
	}
	err := d.split.Delete(ctx, unknown)
	if errors.Is(err, topic.ErrFull) {
		return fmt.Errorf("%w: topics.control_bytes is reached, or the disk is full: %w", ingest.ErrDeletionsFull, err)
	}
	return err
}

func (d *deletions) count(ctx context.Context, result string, n int) {
	d.counter.Add(ctx, int64(n), metric.WithAttributes(attribute.String("result", result)))
}

// observeTombstones makes what is known of deletions metrics.
func (n *node) observeTombstones() error {
	meter := otel.Meter("refrain/shard")
	known, err1 := meter.Int64ObservableGauge("refrain_shard_tombstones",
		metric.WithDescription("Deleted posts and authors that are known."))
	bytes, err2 := meter.Int64ObservableGauge("refrain_shard_tombstones_bytes",
		metric.WithDescription("Bytes of the window's budget that they hold."))
	limit, err3 := meter.Int64ObservableGauge("refrain_shard_tombstones_limit_bytes",
		metric.WithDescription("Bytes at which further deletions are refused."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	return n.observe(meter, func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(known, int64(n.tombstones.Len()))
		o.ObserveInt64(bytes, n.tombstones.Bytes())
		o.ObserveInt64(limit, n.tombstoneLimit())
		return nil
	}, known, bytes, limit)
}

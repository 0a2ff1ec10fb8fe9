package jetstream

import (
	"context"
	"fmt"
	"slices"

	js "github.com/nats-io/nats.go/jetstream"

	"refrain/topic"
)

var _ topic.Purger = (*Topic)(nil)

// Purge implements topic.Purger. All partitions share one stream, which is cut where all of them can spare what is
// before: files that lie before that whole are removed, one is rewritten. The newest message stays: an empty stream looks as
// if it had lost everything (endOfEmpty).
func (t *Topic) Purge(ctx context.Context, before []int64) error {
	sequence := t.sequence(slices.Min(before))
	if sequence <= 1 { // the first
		return nil
	}
	stream, err := t.js.Stream(ctx, t.cfg.Name)
	if err == nil {
		sequence = min(sequence, int64(stream.CachedInfo().State.LastSeq))
		err = stream.Purge(ctx, js.WithPurgeSequence(uint64(sequence)))
	}
	if err != nil {
		return fmt.Errorf("purge topic %s: %w", t.cfg.Name, err)
	}
	return nil
}

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
// before: files that lie before that whole are removed, one is rewritten.
func (t *Topic) Purge(ctx context.Context, before []int64) error {
	sequence := t.sequence(slices.Min(before))
	if sequence <= 1 { // the first
		return nil
	}
	stream, err := t.js.Stream(ctx, t.cfg.Name)
	if err == nil {
		err = stream.Purge(ctx, js.WithPurgeSequence(uint64(sequence)))
	}
	if err != nil {
		return fmt.Errorf("purge topic %s: %w", t.cfg.Name, err)
	}
	return nil
}

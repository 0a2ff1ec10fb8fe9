package server

import (
	"context"
	"time"

	"refrain/shard"
)

// Deletions are read so often in a process that shares the topics: its sinks and answers show what was deleted no longer.
const followEvery = 100 * time.Millisecond

// openFollower reads the deletions that there are: nothing is shown before they are known.
func (n *node) openFollower(ctx context.Context) error {
	n.follower = shard.NewFollower(n.control, n.tombstones, max(n.ages()), n.now, n.log)
	return n.follower.Read(ctx)
}

// followDeletions reads on until ctx ends.
func (n *node) followDeletions(ctx context.Context) error {
	defer n.follower.Close()
	failing := false
	return every(ctx, followEvery, func(ctx context.Context) {
		err := n.follower.Read(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			n.log.Warn("control topic: retrying read", "error", err)
		}
		failing = err != nil
	})
}

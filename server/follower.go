package server

import (
	"context"
	"time"

	"refrain/shard"
)

// followEvery is how often the control topic is asked for deletions. On a broker each time is a request, of every worker of
// every process whether anything is deleted or not, and was half of what an idle deployment asked.
func (n *node) followEvery() time.Duration {
	if n.cfg.onBroker() {
		return 500 * time.Millisecond
	}
	return 100 * time.Millisecond
}

// openFollower reads the deletions that there are: nothing is shown before they are known.
func (n *node) openFollower(ctx context.Context) error {
	n.follower = shard.NewFollower(n.control, n.tombstones, max(n.ages()), n.now, n.log)
	return n.follower.Read(ctx)
}

// followDeletions reads on until ctx ends, in a process that shares the topics: its sinks and answers show what was deleted no
// longer.
func (n *node) followDeletions(ctx context.Context) error {
	defer n.follower.Close()
	failing := false
	return every(ctx, n.followEvery(), func(ctx context.Context) {
		err := n.follower.Read(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			n.log.Warn("control topic: retrying read", "error", err)
		}
		failing = err != nil
	})
}

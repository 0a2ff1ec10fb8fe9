package shard

import (
	"slices"

	"refrain/feed"
	"refrain/topic"
)

// Canary is a pair that has come through the partition that it was written to.
type Canary struct {
	topic.Canary // its second post
	Partition    int
}

// canaryWindow is what a partition's own canaries are compared with: of each writer the first post of the last pair.
// The rows never hold one, so nobody's post is ever found to repeat it.
type canaryWindow struct {
	firsts  []firstCanary // the oldest first
	through []Canary      // and not told yet
}

type firstCanary struct {
	topic.Canary
	group feed.Hash
}

// maxCanaryWriters bounds the writers whose first post waits for the second: some never come, of processes that have ended.
const maxCanaryWriters = 64

// lookupCanary looks the sentences of a canary up as it would those of a post, so that it takes as long.
func (q *partition) lookupCanary(x *item) {
	for i := range x.batch.Sentences {
		s := &x.batch.Sentences[i]
		q.rows.Probe(s)
		if x.partition == q.id {
			q.canary.compare(q.id, x.batch.Canary, s)
		}
	}
}

// compare takes in a first post, and finds it again in the second.
func (c *canaryWindow) compare(partition int, x *topic.Canary, s *feed.Sentence) {
	at := slices.IndexFunc(c.firsts, func(f firstCanary) bool { return f.Writer == x.Writer })
	if at >= 0 {
		first := c.firsts[at]
		c.firsts = slices.Delete(c.firsts, at, at+1)
		if x.Second && first.Pair == x.Pair && first.group == s.Group {
			c.through = append(c.through, Canary{*x, partition})
		}
	}
	if !x.Second {
		c.firsts = append(c.firsts, firstCanary{*x, s.Group})
		c.firsts = c.firsts[max(0, len(c.firsts)-maxCanaryWriters):]
	}
}

// reportCanaries tells of those that have come through. All events found before them are durable.
func (w *Worker) reportCanaries() {
	for _, q := range w.owned {
		for _, c := range q.canary.through {
			if w.cfg.Canary != nil {
				w.cfg.Canary(c)
			}
		}
		q.canary.through = q.canary.through[:0]
	}
}

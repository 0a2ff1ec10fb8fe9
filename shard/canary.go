package shard

import (
	"refrain/feed"
	"refrain/topic"
)

// Canary is a pair that has come through the partition that it was written to.
type Canary struct {
	topic.Canary // its second post
	Partition    int
}

// canaryWindow is what a partition's own canaries are compared with: the first post of the last pair. The rows never hold
// one, so nobody's post is ever found to repeat it.
type canaryWindow struct {
	first   topic.Canary
	group   feed.Hash
	through []Canary // and not told yet
}

// lookUpCanary looks the sentences of a canary up as it would those of a post, so that it takes as long.
func (q *partition) lookUpCanary(x *item) {
	if x.batch.Canary == nil {
		return
	}
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
	if !x.Second {
		c.first, c.group = *x, s.Group
		return
	}
	if c.first.Writer == x.Writer && c.first.Pair == x.Pair && c.group == s.Group {
		c.through = append(c.through, Canary{*x, partition})
	}
	*c = canaryWindow{through: c.through}
}

// tellCanaries tells of those that have come through. All events found before them are durable.
func (w *Worker) tellCanaries() {
	for _, q := range w.owned {
		for _, c := range q.canary.through {
			if w.cfg.Canary != nil {
				w.cfg.Canary(c)
			}
		}
		q.canary.through = q.canary.through[:0]
	}
}

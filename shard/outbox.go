package shard

import (
	"context"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"

	"refrain/feed"
	"refrain/topic"
)

// outbox holds the events that are not durable yet. What they report counts as looked up only when they are.
type outbox struct {
	topic      topic.Topic
	deployment string
	now        func() time.Time
	records    []topic.Record
}

func (o *outbox) add(events []found) {
	for i := range events {
		m := &events[i].match
		o.put(m.Later.Source, m.Later.Post, events[i].trace, m.AppendEvent(nil, o.deployment))
	}
}

func (o *outbox) retract(d feed.Tombstone, t feed.Time) {
	o.put(d.Source, d.Post+d.Author, "", AppendRetraction(nil, d, t, o.deployment))
}

// put sends what concerns one post, or author, to one partition, so that its order is kept there. The time of a record is
// when it was made, however late it gets through: Deleted leans on it.
func (o *outbox) put(source, post, trace string, data []byte) {
	p := int(xxh3.HashStringSeed(post, xxh3.HashString(source)) % uint64(o.topic.Partitions()))
	o.records = append(o.records, topic.Record{Partition: p, Time: o.now(), Trace: trace, Data: data})
}

func (o *outbox) flush(ctx context.Context) error {
	if len(o.records) == 0 {
		return nil
	}
	if err := o.topic.Append(ctx, o.records); err != nil {
		return fmt.Errorf("append %d events: %w", len(o.records), err)
	}
	o.records = nil
	return nil
}

package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	made       time.Time   // see put
	dead       DeadLetters // nil: there are none
	logger     *slog.Logger
	metrics    *metrics
	known      []int64 // the end of the topic after the last append; nil: to be asked for
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
// when the first was made that waits with it, however late they get through: Deleted leans on it. They share it because
// only records of one time share a message.
func (o *outbox) put(source, post, trace string, data []byte) {
	p := int(xxh3.HashStringSeed(post, xxh3.HashString(source)) % uint64(o.topic.Partitions()))
	if len(o.records) == 0 {
		o.made = o.now()
	}
	o.records = append(o.records, topic.Record{Partition: p, Time: o.made, Trace: trace, Data: data})
}

func (o *outbox) flush(ctx context.Context) error {
	if len(o.records) == 0 {
		return nil
	}
	o.known = nil
	if err := o.append(ctx, o.records); err != nil {
		return fmt.Errorf("append %d events: %w", len(o.records), err)
	}
	o.records = nil
	return nil
}

// append makes records durable. Where the topic finds one too large the half without it goes first, and so on, until the
// one is left by itself, which is then a dead letter.
func (o *outbox) append(ctx context.Context, records []topic.Record) error {
	err := o.topic.Append(ctx, records)
	switch half := len(records) / 2; {
	case o.dead == nil || !errors.Is(err, topic.ErrTooLarge):
		return err
	case half == 0:
		return o.giveUp(&records[0], err)
	default:
		if err := o.append(ctx, records[:half]); err != nil {
			return err
		}
		return o.append(ctx, records[half:])
	}
}

// giveUp gives an event that the topic will never take to the dead letters.
func (o *outbox) giveUp(r *topic.Record, cause error) error {
	o.logger.Error("event is too large for the event topic: a dead letter", "partition", r.Partition, "bytes", len(r.Data), "error", cause)
	if err := o.dead.Write(fmt.Sprintf("event topic, partition %d", r.Partition), cause.Error(), r.Data); err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	o.metrics.dead.Add(context.Background(), 1)
	return nil
}

// end is where the topic ended when everything appended was durable, or further on.
func (o *outbox) end(ctx context.Context) ([]int64, error) {
	if o.known != nil {
		return o.known, nil
	}
	_, end, err := o.topic.Bounds(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the end of the event topic: %w", err)
	}
	o.known = end
	return end, nil
}

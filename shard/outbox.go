package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"refrain/feed"
	"refrain/topic"
)

// outbox holds the events that are not durable yet. What they report counts as looked up only when they are.
type outbox struct {
	topic      topic.Topic
	deployment feed.Deployment
	now        func() time.Time
	records    []topic.Record
	bytes      int         // of the records
	createdAt  time.Time   // see put
	dead       DeadLetters // nil: there are none
	logger     *slog.Logger
	metrics    *metrics
	accepted   []int64 // stamps of the posts whose events wait
	known      []int64 // the end of the topic after the last append; nil: not known
	givenUp    bool    // see giveUpAll
}

// add adds what look-ups have found.
func (o *outbox) add(f *found) {
	records, accepted := f.drain()
	if o.givenUp {
		return
	}
	o.accepted = append(o.accepted, accepted...)
	for _, r := range records {
		o.put(r)
	}
}

// recordDelays tells how long the posts took whose events are durable now.
func (o *outbox) recordDelays() {
	now := o.now().UnixNano()
	for _, stamp := range o.accepted {
		o.metrics.delay.Record(context.Background(), max(0, float64(now-stamp)/1e9))
	}
	o.accepted = o.accepted[:0]
}

func (o *outbox) retract(d feed.Tombstone, t feed.Time) {
	o.put(topic.Record{
		Partition: partitionOf(o.topic.Partitions(), d.Source, d.Post+d.Author),
		Data:      AppendRetraction(nil, d, t, &o.deployment),
	})
}

// giveUpAll drops everything, and whatever comes: flush fails from now on, so that nobody commits what was looked up.
func (o *outbox) giveUpAll() { o.records, o.bytes, o.accepted, o.givenUp = nil, 0, nil, true }

// put adds a record without a time: that is when the first was created that waits with it, however late they get through:
// Deleted relies on it. They share it because only records of one time share a message.
func (o *outbox) put(r topic.Record) {
	if len(o.records) == 0 {
		o.createdAt = o.now()
	}
	r.Time = o.createdAt
	o.records = append(o.records, r)
	o.bytes += len(r.Data)
}

func (o *outbox) flush(ctx context.Context) error {
	if o.givenUp {
		return errGivenUp
	}
	if len(o.records) == 0 {
		return nil
	}
	o.known = nil
	if err := o.append(ctx, o.records); err != nil {
		return fmt.Errorf("append %d events: %w", len(o.records), err)
	}
	o.records, o.bytes = nil, 0
	o.recordDelays()
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

// giveUp writes an event that the topic will never accept to the dead letters.
func (o *outbox) giveUp(r *topic.Record, cause error) error {
	o.logger.Error("event is too large for the event topic: a dead letter", "partition", r.Partition, "bytes",
		len(r.Data), "error", cause)
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
		return nil, fmt.Errorf("get the end of the event topic: %w", err)
	}
	o.known = end
	return end, nil
}

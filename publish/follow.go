package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"refrain/topic"
)

// FollowConfig says what Follow reads, and for whom.
type FollowConfig struct {
	Topic   topic.Topic
	Store   topic.Store // keeps the cursor; nil: there is none, and every start begins with what comes then
	Name    string      // of the sink, in the cursor's key and the metrics
	Sink    Sink
	Deleted Deleted
	Logger  *slog.Logger // nil means slog.Default()
}

// Follow hands every event of the topic to a sink, at least once, until ctx ends; then it returns nil. Without a
// stored cursor it begins with the oldest event kept.
func Follow(ctx context.Context, cfg FollowConfig) error {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	f := &follower{FollowConfig: cfg, metrics: newMetrics()}
	err := f.run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("publish to %s: %w", cfg.Name, err)
}

type follower struct {
	FollowConfig
	metrics metrics
	at      place
}

func (f *follower) key() string { return "publish/" + f.Name }

func (f *follower) run(ctx context.Context) error {
	if err := f.locate(ctx); err != nil {
		return err
	}
	reader, err := f.Topic.Open(ctx, slices.Clone(f.at.next))
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		records, err := reader.Fetch(ctx)
		var gap *topic.ErrTruncated
		if errors.As(err, &gap) {
			f.Logger.Warn("publish: events lost to retention", "sink", f.Name, "error", gap)
			f.at.skip(gap)
			continue
		}
		if err != nil {
			return err
		}
		if err := f.publish(ctx, records); err != nil {
			return err
		}
	}
}

// locate goes on from the cursor, if there is one for this topic.
func (f *follower) locate(ctx context.Context) error {
	start, end, err := f.Topic.Bounds(ctx)
	if err != nil {
		return err
	}
	f.at = place{next: start, ordered: f.Topic.Ordered()}
	if f.Store == nil {
		f.at.next = end
		return nil
	}
	cursor, err := f.Store.Get(ctx, f.key())
	if err != nil || cursor == nil {
		return err
	}
	at, err := parsePlace(string(cursor), f.Topic.Partitions(), f.Topic.Ordered())
	if err != nil {
		return fmt.Errorf("cursor: %w", err)
	}
	if at.beyond(end) {
		f.Logger.Warn("publish: cursor beyond the end of the topic; starting with the oldest event", "sink", f.Name)
		return nil
	}
	f.at = at
	return nil
}

// publish hands over one batch and then remembers it.
func (f *follower) publish(ctx context.Context, records []topic.Record) error {
	events := make([][]byte, 0, len(records))
	for i := range records {
		f.at.read(&records[i])
		e, err := open(records[i].Data)
		if err != nil {
			f.Logger.Error("publish: unreadable record left out", "position", f.at.String(), "error", err)
			continue
		}
		if !e.mentions(f.Deleted) {
			events = append(events, records[i].Data)
		}
	}
	if len(events) > 0 {
		if err := f.Sink.Publish(ctx, events); err != nil {
			return err
		}
		f.metrics.sent(f.Name, len(events))
	}
	if f.Store == nil {
		return nil
	}
	if err := f.Store.Put(ctx, f.key(), []byte(f.at.String())); err != nil {
		return fmt.Errorf("cursor: %w", err)
	}
	return nil
}

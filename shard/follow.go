package shard

import (
	"context"
	"log/slog"
	"time"

	"refrain/topic"
)

// Follower reads the control topic into Tombstones in a process that may have no worker. It belongs to one goroutine.
type Follower struct {
	deletions
	retention time.Duration
	now       func() time.Time
}

// NewFollower makes one. Tombstones older than retention are forgotten; 0: never.
func NewFollower(control topic.Topic, into *Tombstones, retention time.Duration, now func() time.Time, log *slog.Logger) *Follower {
	f := &Follower{retention: retention, now: now}
	f.deletions = deletions{control: control, known: into, corrupt: func(r *topic.Record, err error) {
		log.Error("unreadable control record left out", "position", r.Position, "time", r.Time, "error", err)
	}}
	return f
}

// Read reads what the control topic holds now, and was not read yet.
func (f *Follower) Read(ctx context.Context) error {
	if err := f.read(ctx, func([]deletion) error { return nil }); err != nil {
		return err
	}
	if f.retention > 0 {
		f.known.expire(f.now().Add(-f.retention))
	}
	return nil
}

// Close ends the reading.
func (f *Follower) Close() { f.close() }

package server

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"refrain/ingest"
	"refrain/internal/retry"
	"refrain/topic"
)

// brokerSource is a source behind a network. It knows which of its partitions hold posts that it has not handed on yet, or
// cannot be reached: they are silent, and not idle.
type brokerSource interface {
	ingest.Source
	io.Closer
	Waiting() []string
}

// lazySource is a source that may be opened later. It remembers in the store which partitions it was given last: until
// it is given some again, those hold the window's clock, for what they hold is still to come.
type lazySource struct {
	lazy[brokerSource]
	name   string
	log    *slog.Logger
	store  topic.Store
	expect func(ctx context.Context, partitions []string) error

	status *ingest.Status

	remembered []string
	assigned   atomic.Bool
}

func (s *lazySource) key() string { return "sources/" + hex.EncodeToString([]byte(s.name)) }

// recall expects the partitions of the last time.
func (s *lazySource) recall(ctx context.Context) error {
	names, err := s.store.Get(ctx, s.key())
	if err != nil || len(names) == 0 {
		return err
	}
	s.remembered = strings.Split(string(names), "\n")
	return s.expect(ctx, s.remembered)
}

// assign expects the partitions that the source is given.
func (s *lazySource) assign(ctx context.Context, partitions []string) error {
	if err := s.expect(ctx, partitions); err != nil {
		return err
	}
	if err := s.store.Put(ctx, s.key(), []byte(strings.Join(partitions, "\n"))); err != nil {
		return err
	}
	s.assigned.Store(true)
	return nil
}

var errNotReached = errors.New("not reached since the start")

// opening is the part of a source's status that it fails in before it is open.
const opening = "opening"

// Next waits until the source can be opened.
func (s *lazySource) Next(ctx context.Context) (ingest.Batch, error) {
	src, err := backoff.Retry(ctx, func() (brokerSource, error) { return s.get(ctx) },
		backoff.WithBackOff(retry.Steady()), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, pause time.Duration) {
			s.status.Failed(opening, err)
			s.log.Warn("ingest: retrying connect", "source", s.name, "error", err, "pause", pause)
		}))
	if err != nil {
		return ingest.Batch{}, err
	}
	s.status.Reached(opening)
	return src.Next(ctx)
}

// Waiting are the partitions of the last time until it is given some.
func (s *lazySource) Waiting() []string {
	if !s.assigned.Load() {
		return s.remembered
	}
	if src, opened := s.peek(); opened {
		return src.Waiting()
	}
	return nil
}

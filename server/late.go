package server

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"refrain/ingest"
	"refrain/internal/kafkaconn"
	"refrain/publish"
	"refrain/topic"
)

// late is something behind a network that is opened as soon as it can be reached: whoever starts a service and its
// brokers together need not care for the order.
type late[T any] struct {
	open func(context.Context) (T, error)

	mu     sync.Mutex
	it     T
	opened bool
}

// firstTry is how long the start of the service waits for what cannot be reached.
const firstTry = 3 * time.Second

// try opens at the start. What cannot be reached now is left for later; that it lets us in when it answers is wanted.
func (l *late[T]) try(ctx context.Context, name string, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, firstTry)
	defer cancel()
	_, err := l.get(ctx)
	if errors.Is(err, kafkaconn.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		log.Warn("not reached; to be tried again", "name", name, "error", err)
		return nil
	}
	return err
}

// get opens, unless that has been done.
func (l *late[T]) get(ctx context.Context) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened {
		return l.it, nil
	}
	it, err := l.open(ctx)
	if err == nil {
		l.it, l.opened = it, true
	}
	return it, err
}

// peek returns what is open.
func (l *late[T]) peek() (it T, opened bool) {
	if !l.mu.TryLock() { // it is being opened
		return it, false
	}
	defer l.mu.Unlock()
	return l.it, l.opened
}

func (l *late[T]) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := any(l.it).(io.Closer); ok && l.opened {
		return c.Close()
	}
	return nil
}

// lateSource is a source that may be opened later. It remembers in the store which partitions it was given last: until
// it is given some again, those hold the window's clock, for what they hold is still to come.
type lateSource struct {
	late[ingest.Source]
	name   string
	log    *slog.Logger
	store  topic.Store
	expect func(ctx context.Context, partitions []string) error

	remembered []string
	assigned   atomic.Bool
}

// maxPause is the longest pause between two tries to open a source.
const maxPause = 5 * time.Second

func (s *lateSource) key() string { return "sources/" + hex.EncodeToString([]byte(s.name)) }

// recall expects the partitions of the last time.
func (s *lateSource) recall(ctx context.Context) error {
	names, err := s.store.Get(ctx, s.key())
	if err != nil || len(names) == 0 {
		return err
	}
	s.remembered = strings.Split(string(names), "\n")
	return s.expect(ctx, s.remembered)
}

// assign expects the partitions that the source is given.
func (s *lateSource) assign(ctx context.Context, partitions []string) error {
	if err := s.expect(ctx, partitions); err != nil {
		return err
	}
	if err := s.store.Put(ctx, s.key(), []byte(strings.Join(partitions, "\n"))); err != nil {
		return err
	}
	s.assigned.Store(true)
	return nil
}

func (s *lateSource) Next(ctx context.Context) (ingest.Batch, error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.MaxInterval = maxPause
	src, err := backoff.Retry(ctx, func() (ingest.Source, error) { return s.get(ctx) }, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, pause time.Duration) {
			s.log.Warn("source not reached; to be tried again", "source", s.name, "error", err, "pause", pause)
		}))
	if err != nil {
		return ingest.Batch{}, err
	}
	return src.Next(ctx)
}

func (s *lateSource) Waiting() []string {
	if !s.assigned.Load() {
		return s.remembered
	}
	src, opened := s.peek()
	if w, ok := src.(waiter); ok && opened {
		return w.Waiting()
	}
	return nil
}

// lateSink is a sink that may be opened later: whoever publishes tries again anyway.
type lateSink struct{ late[publish.Sink] }

func (s *lateSink) Publish(ctx context.Context, events []publish.Event) error {
	to, err := s.get(ctx)
	if err != nil {
		return err
	}
	return to.Publish(ctx, events)
}

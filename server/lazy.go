package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"refrain/internal/kafkaconn"
	"refrain/publish"
)

// lazy is something behind a network that is opened as soon as it can be reached: whoever starts a service and its
// brokers together need not care for the order.
type lazy[T io.Closer] struct {
	open func(context.Context) (T, error)

	mu     sync.Mutex
	it     T
	opened bool
}

// firstOpenTimeout is how long the start of the service waits for what cannot be reached.
const firstOpenTimeout = 3 * time.Second

// try opens at the start. What cannot be reached now is left for later; that it lets us in when it answers is wanted.
func (l *lazy[T]) try(ctx context.Context, name string, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, firstOpenTimeout)
	defer cancel()
	_, err := l.get(ctx)
	if errors.Is(err, kafkaconn.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		log.Warn("not reached: retrying connect", "name", name, "error", err)
		return nil
	}
	return err
}

// openFirst tries to open all that is behind a network, at once: the start waits for the slowest, and not for each.
func (s *Server) openFirst(ctx context.Context) error {
	var tries errgroup.Group
	for _, try := range s.firstTries {
		tries.Go(func() error { return try(ctx) })
	}
	return tries.Wait()
}

// get opens, unless that has been done.
func (l *lazy[T]) get(ctx context.Context) (T, error) {
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
func (l *lazy[T]) peek() (it T, opened bool) {
	if !l.mu.TryLock() { // it is being opened
		return it, false
	}
	defer l.mu.Unlock()
	return l.it, l.opened
}

func (l *lazy[T]) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.opened {
		return nil
	}
	return l.it.Close()
}

// brokerSink is a sink behind a network.
type brokerSink interface {
	publish.Sink
	io.Closer
}

// lazySink is a sink that may be opened later: whoever publishes tries again anyway.
type lazySink struct{ lazy[brokerSink] }

func (s *lazySink) Publish(ctx context.Context, events []publish.Event) error {
	to, err := s.get(ctx)
	if err != nil {
		return err
	}
	return to.Publish(ctx, events)
}

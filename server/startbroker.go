package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"refrain/internal/retry"
	"refrain/topic"
)

// startBroker is a broker that others keep, as a process sees it that starts: while it is choosing its leaders, or is being
// restarted, the process waits. Whatever is opened or read then has no other second try. Later, who asks knows best when to
// ask again.
type startBroker struct {
	broker
	n       *node
	opened  atomic.Bool // the node is
	started atomic.Bool // and everything else
}

func (b *startBroker) openTopic(ctx context.Context, spec topicSpec) (t openTopic, err error) {
	err = b.waiting(ctx, func() error {
		t, err = b.broker.openTopic(ctx, spec)
		return err
	})
	return t, err
}

func (b *startBroker) openStore(ctx context.Context, name string) (s topic.Store, err error) {
	err = b.waiting(ctx, func() error {
		s, err = b.broker.openStore(ctx, name)
		return err
	})
	return &startStore{s, b}, err
}

type startStore struct {
	topic.Store
	broker *startBroker
}

// Get implements topic.Store.
func (s *startStore) Get(ctx context.Context, key string) (value []byte, err error) {
	err = s.broker.waiting(ctx, func() error {
		value, err = s.Store.Get(ctx, key)
		return err
	})
	return value, err
}

// Put implements topic.Store.
func (s *startStore) Put(ctx context.Context, key string, value []byte) error {
	return s.broker.waiting(ctx, func() error { return s.Store.Put(ctx, key, value) })
}

// maxStartWait bounds it while the node is opened: a broker that is away for longer is an error of that, which begins anew.
const maxStartWait = time.Minute

func (b *startBroker) waiting(ctx context.Context, try func() error) error {
	begin, pauses := time.Now(), retry.Quick()
	for {
		err := try()
		tooLong := !b.opened.Load() && time.Since(begin) > maxStartWait
		if err == nil || b.started.Load() || !isTemporary(err) || tooLong {
			return err
		}
		if lost := b.Lost(); lost != nil { // it would wait for what never comes
			return fmt.Errorf("%w: %w", ErrTopicsChanged, lost)
		}
		b.n.waiting(err)
		b.n.log.Warn("waiting for the broker of the topics", "error", err)
		if retry.Sleep(ctx, pauses.NextBackOff()) != nil {
			return err
		}
	}
}

package server

import (
	"context"
	"sync/atomic"
	"time"

	"refrain/internal/retry"
	"refrain/topic"
)

// startStore is the store of a broker that others keep. While the process starts it waits for a broker that is choosing
// its leaders, or is being restarted: what is read then has no other second try. Later, who asks knows best when to ask again.
type startStore struct {
	topic.Store
	n       *node
	started atomic.Bool
}

// Get implements topic.Store.
func (s *startStore) Get(ctx context.Context, key string) (value []byte, err error) {
	err = s.waiting(ctx, func() error {
		value, err = s.Store.Get(ctx, key)
		return err
	})
	return value, err
}

// Put implements topic.Store.
func (s *startStore) Put(ctx context.Context, key string, value []byte) error {
	return s.waiting(ctx, func() error { return s.Store.Put(ctx, key, value) })
}

// maxStartWait bounds it: a broker that is away for longer is an error of the start, which begins anew.
const maxStartWait = time.Minute

func (s *startStore) waiting(ctx context.Context, try func() error) error {
	begin, pauses := time.Now(), retry.Quick()
	for {
		err := try()
		if err == nil || s.started.Load() || !isTemporary(err) || time.Since(begin) > maxStartWait {
			return err
		}
		s.n.waiting(err)
		s.n.log.Warn("waiting for the broker of the topics", "error", err)
		if retry.Sleep(ctx, pauses.NextBackOff()) != nil {
			return err
		}
	}
}

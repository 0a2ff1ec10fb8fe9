package shard

import (
	"context"
	"sync"
)

// lock is a mutex that one may give up waiting for. Who waits gets it in turn.
type lock chan struct{}

var _ sync.Locker = lock(nil)

func newLock() lock { return make(lock, 1) }

// Lock implements sync.Locker.
func (l lock) Lock() { l <- struct{}{} }

// Unlock implements sync.Locker.
func (l lock) Unlock() { <-l }

// LockContext is Lock for as long as ctx lasts.
func (l lock) LockContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

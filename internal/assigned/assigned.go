// Package assigned holds the latest parts of a membership, for its Next to hand out.
package assigned

import (
	"context"
	"slices"
	"sync"
)

// Latest is what a process has been assigned last. Set and Fail may be called by any goroutine, Next by one.
type Latest struct {
	mu    sync.Mutex
	parts []int
	known bool
	err   error

	changed chan struct{} // one, when there is news that Next has not looked at

	handed   []int // what Next returned last
	returned bool
}

// New is an assignment that is not known yet.
func New() *Latest { return &Latest{changed: make(chan struct{}, 1)} }

// Set replaces the parts, in any order.
func (l *Latest) Set(parts []int) {
	parts = slices.Sorted(slices.Values(parts))
	l.mu.Lock()
	l.parts, l.known = parts, true
	l.mu.Unlock()
	l.wake()
}

// Clear takes the parts away. Who was never told of any waits on: having none yet is not the same as being dealt none.
func (l *Latest) Clear() {
	l.mu.Lock()
	l.parts = nil
	l.mu.Unlock()
	l.wake()
}

// Fail is what Next returns from now on. The first error stays.
func (l *Latest) Fail(err error) {
	l.mu.Lock()
	if l.err == nil {
		l.err = err
	}
	l.mu.Unlock()
	l.wake()
}

func (l *Latest) wake() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Next waits for parts other than those that it last returned.
func (l *Latest) Next(ctx context.Context) ([]int, error) {
	for ctx.Err() == nil {
		parts, fresh, err := l.look()
		if fresh || err != nil {
			return parts, err
		}
		select {
		case <-l.changed:
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

func (l *Latest) look() (parts []int, fresh bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, false, l.err
	}
	if !l.known || l.returned && slices.Equal(l.parts, l.handed) {
		return nil, false, nil
	}
	l.handed, l.returned = l.parts, true
	return slices.Clone(l.parts), true, nil
}

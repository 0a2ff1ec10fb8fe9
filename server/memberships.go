package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"refrain/topic"
)

// memberships are the groups that this process has joined, or would.
type memberships struct {
	mu     sync.Mutex
	joined map[string]topic.Membership
	failed map[string]error // why it has not joined
}

func (m *memberships) set(group string, joined topic.Membership, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.joined == nil {
		m.joined, m.failed = map[string]topic.Membership{}, map[string]error{}
	}
	m.joined[group], m.failed[group] = joined, err
}

// check says in which groups this process has no part.
func (m *memberships) check(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, group := range slices.Sorted(maps.Keys(m.joined)) {
		err := m.failed[group]
		if t, ok := m.joined[group].(interface{ Trouble() error }); ok && err == nil {
			err = t.Trouble()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", group, err))
		}
	}
	return errors.Join(errs...)
}

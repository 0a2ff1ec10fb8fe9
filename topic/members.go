package topic

import (
	"context"
	"fmt"
	"sync"

	"refrain/internal/assigned"
)

// NameTakenError says that another process of the same name has joined before, and lives.
type NameTakenError struct{ Member, Group string }

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("another process calls itself %s in %s: set worker to a name of its own in each process", e.Member, e.Group)
}

// Members deals parts out among members inside one process: what a broker does for processes.
type Members struct {
	parts int

	mu     sync.Mutex
	joined map[string]*member
}

// NewMembers has parts to deal out and nobody to take them.
func NewMembers(parts int) *Members {
	return &Members{parts: parts, joined: map[string]*member{}}
}

// Join adds a member. When the name is in use, the Next of the later one returns a *NameTakenError.
func (m *Members) Join(name string) Membership {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := &member{of: m, name: name, latest: assigned.New()}
	if m.joined[name] != nil {
		j.latest.Fail(&NameTakenError{Member: name, Group: "this process"})
		return j
	}
	m.joined[name] = j
	m.deal()
	return j
}

func (m *Members) deal() {
	var names []string
	for name := range m.joined {
		names = append(names, name)
	}
	for name, parts := range Deal(m.parts, names) {
		m.joined[name].latest.Set(parts)
	}
}

func (m *Members) leave(j *member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.joined[j.name] == j {
		delete(m.joined, j.name)
		m.deal()
	}
}

// member is one of Members.
type member struct {
	of     *Members
	name   string
	latest *assigned.Latest
}

var _ Membership = (*member)(nil)

func (j *member) Next(ctx context.Context) ([]int, error) { return j.latest.Next(ctx) }

func (j *member) Close() error {
	j.latest.Fail(ErrClosed)
	j.of.leave(j)
	return nil
}

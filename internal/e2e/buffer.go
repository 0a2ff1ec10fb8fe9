package e2e

import (
	"bytes"
	"log/slog"
	"sync"
)

// lockedBuffer is written by one process and read by another goroutine.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Logged is what a logger in the process of a test has written.
type Logged struct{ lockedBuffer }

// Logger writes to l, as text.
func (l *Logged) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

package kafka

import (
	"sync"
	"time"
)

func (s *Source) warn(message string, args ...any) {
	if s.warnings.pass(message, time.Now()) {
		s.cfg.Logger.Warn(message, append([]any{"group", s.cfg.Group, "brokers", s.conn.String()}, args...)...)
	}
}

// throttle lets each message pass now and then.
type throttle struct {
	every time.Duration
	mu    sync.Mutex
	last  map[string]time.Time
}

func (t *throttle) pass(message string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.last[message]; ok && now.Sub(last) < t.every {
		return false
	}
	t.last[message] = now
	return true
}

package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

func pauses() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 100*time.Millisecond, 5*time.Second
	return b
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *Source) warn(message string, args ...any) {
	if s.trouble.pass(message, time.Now()) {
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

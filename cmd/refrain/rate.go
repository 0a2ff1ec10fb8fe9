package main

import (
	"sync"
	"time"
)

// rate lets something happen at most once in a while. Its zero value lets everything happen.
type rate struct {
	mu    sync.Mutex
	every time.Duration
	last  time.Time
}

func (r *rate) allow(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.last.IsZero() && now.Sub(r.last) < r.every {
		return false
	}
	r.last = now
	return true
}

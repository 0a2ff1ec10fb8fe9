// Package loglimit bounds how many lines a second the log has of one kind, and tells how many were left out.
//
// rate.Sometimes bounds them too, but neither counts what it leaves out nor lets a burst through again after a pause.
package loglimit

import (
	"sync"

	"golang.org/x/time/rate"
)

// Limiter says whether a line may be logged. It may be used by several goroutines.
type Limiter struct {
	lines *rate.Limiter

	mu      sync.Mutex
	skipped int // lines left out since the last one that was not
}

// New allows limit lines a second, and burst of them at once.
func New(limit rate.Limit, burst int) *Limiter { return &Limiter{lines: rate.NewLimiter(limit, burst)} }

// Allow reports whether a line may be logged now, and then how many were left out before it.
func (l *Limiter) Allow() (skipped int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lines.Allow() {
		l.skipped++
		return 0, false
	}
	skipped, l.skipped = l.skipped, 0
	return skipped, true
}

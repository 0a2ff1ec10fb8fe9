// Package loglimit bounds how many lines a second the log has of one kind, and tells how many were left out.
package loglimit

import (
	"sync"

	"golang.org/x/time/rate"
)

// Limiter says whether there is room for a line. It may be used by several goroutines.
type Limiter struct {
	lines      *rate.Limiter
	logSkipped func(n int)

	mu      sync.Mutex
	skipped int // lines left out since logSkipped was last called
}

// New allows limit lines a second, and burst of them at once. logSkipped logs, before the next line, how many were left out.
func New(limit rate.Limit, burst int, logSkipped func(n int)) *Limiter {
	return &Limiter{lines: rate.NewLimiter(limit, burst), logSkipped: logSkipped}
}

// MayLog reports whether there is room for a line, and tells before it how many were left out.
func (l *Limiter) MayLog() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lines.Allow() {
		l.skipped++
		return false
	}
	if l.skipped > 0 {
		l.logSkipped(l.skipped)
		l.skipped = 0
	}
	return true
}

// Package loglimit bounds how many lines a second the log has of one kind, and tells how many were left out.
package loglimit

import (
	"sync"

	"golang.org/x/time/rate"
)

// Limiter says whether there is room for a line. It may be used by several goroutines.
type Limiter struct {
	lines *rate.Limiter
	rest  func(n int)

	mu     sync.Mutex
	unsaid int // lines that were left out and that rest has not told of
}

// New allows so many lines a second, and burst of them at once. rest logs how many were left out before the next one.
func New(limit rate.Limit, burst int, rest func(n int)) *Limiter {
	return &Limiter{lines: rate.NewLimiter(limit, burst), rest: rest}
}

// MayLog reports whether there is room for a line, and tells before it how many were left out.
func (l *Limiter) MayLog() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lines.Allow() {
		l.unsaid++
		return false
	}
	if l.unsaid > 0 {
		l.rest(l.unsaid)
		l.unsaid = 0
	}
	return true
}

package terminal

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"refrain/internal/units"
)

// Progress shows on a status line how far a long piece of work is. Any goroutine may use it.
type Progress struct {
	status *Status
	total  int64
	start  time.Time

	mu   sync.Mutex
	last time.Time // of drawing
}

// NewProgress begins to measure work of total bytes; 0 means that nobody knows how many.
func NewProgress(s *Status, total int64) *Progress {
	return &Progress{status: s, total: total, start: time.Now()}
}

// interval is the least time between two drawings.
const interval = 100 * time.Millisecond

// Update says how many bytes and posts are done. It is cheap where nobody looks, and often enough.
func (p *Progress) Update(bytes, posts int64) {
	if !p.status.Active() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.last) < interval {
		return
	}
	p.last = now
	p.status.Set(p.line(bytes, posts, now.Sub(p.start)))
}

// Done takes the line off the screen.
func (p *Progress) Done() { p.status.Clear() }

func (p *Progress) line(bytes, posts int64, elapsed time.Duration) string {
	parts := []string{units.Bytes(bytes)}
	if p.total > 0 {
		parts[0] = fmt.Sprintf("%d %% · %s of %s", 100*min(bytes, p.total)/p.total, units.Bytes(bytes), units.Bytes(p.total))
	}
	if seconds := elapsed.Seconds(); seconds > 0 {
		parts = append(parts, units.Thousands(int64(float64(posts)/seconds))+" posts/s")
	}
	if remaining := Remaining(bytes, p.total, elapsed); remaining != "" {
		parts = append(parts, remaining+" left")
	}
	return strings.Join(parts, " · ")
}

// Remaining is how long the rest takes at the speed so far, in words; "" when that is not known, or less than a second.
func Remaining(done, total int64, elapsed time.Duration) string {
	if done <= 0 || done >= total {
		return ""
	}
	rest := time.Duration(float64(elapsed) * float64(total-done) / float64(done)).Round(time.Second)
	if rest < time.Second {
		return ""
	}
	return brief(rest)
}

// brief writes d in its two largest units.
func brief(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

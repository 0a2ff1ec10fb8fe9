package server

import (
	"log/slog"
	"sync"

	"golang.org/x/time/rate"

	"refrain/ingest"
)

// noting logs what became of single posts, a bounded number of lines a second: a line of two bytes that is no post would
// cost a hundred there. The dead letters have all that were rejected, and the answer to an upload says what was changed.
type noting struct {
	log   *slog.Logger
	lines *rate.Limiter

	mu     sync.Mutex
	unsaid int // posts that no line speaks of yet
}

// Lines a second of the log that are about single posts, and how many of them may come at once.
const (
	notedPerSecond = 10
	notedAtOnce    = 100
)

func newNoting(log *slog.Logger) *noting {
	return &noting{log: log, lines: rate.NewLimiter(notedPerSecond, notedAtOnce)}
}

func (n *noting) batch(b *ingest.Batch) {
	for _, x := range b.Rejected {
		if n.mayLog() {
			n.log.Warn("post rejected", "place", x.Place, "reason", x.Reason)
		}
	}
	for _, x := range b.Notes {
		if n.mayLog() {
			n.log.Info("post changed", "place", x.Place, "change", x.Text)
		}
	}
}

// mayLog reports whether there is room for a line, and tells before it how many were left out.
func (n *noting) mayLog() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.lines.Allow() {
		n.unsaid++
		return false
	}
	if n.unsaid > 0 {
		n.log.Warn("further posts rejected or changed", "posts", n.unsaid)
		n.unsaid = 0
	}
	return true
}

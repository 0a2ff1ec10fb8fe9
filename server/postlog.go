package server

import (
	"log/slog"

	"refrain/ingest"
	"refrain/internal/loglimit"
)

// postLog logs what became of single posts, a bounded number of lines a second: a line of two bytes that is no post would
// cost a hundred there. The dead letters have all that were rejected, and the answer to an upload says what was changed.
type postLog struct {
	log   *slog.Logger
	lines *loglimit.Limiter
}

// Lines a second of the log that are about single posts, and how many of them may come at once.
const (
	postLinesPerSecond = 10
	postLineBurst      = 100
)

func newPostLog(log *slog.Logger) *postLog {
	return &postLog{log: log, lines: loglimit.New(postLinesPerSecond, postLineBurst)}
}

// allow reports whether there is room for a line, and logs before it how many posts were left out.
func (l *postLog) allow() bool {
	skipped, ok := l.lines.Allow()
	if skipped > 0 {
		l.log.Warn("further posts rejected or changed", "posts", skipped)
	}
	return ok
}

func (l *postLog) batch(b *ingest.Batch) {
	for _, x := range b.Rejected {
		if l.allow() {
			l.log.Warn("post rejected", "place", x.Location, "reason", x.Reason)
		}
	}
	for _, x := range b.Notes {
		if l.allow() {
			l.log.Info("post changed", "place", x.Location, "change", x.Text)
		}
	}
}

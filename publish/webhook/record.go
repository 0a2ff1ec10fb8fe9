package webhook

import (
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"
)

// What came of an attempt, in the delivery log.
const (
	attemptDelivered = "delivered"
	attemptFailed    = "failed"
	attemptDead      = "dead" // the last one
)

// Attempt is one line of the delivery log.
type Attempt struct {
	Time     time.Time `json:"time"` // when it began
	Endpoint string    `json:"endpoint"`
	ID       string    `json:"webhookId"`
	Events   int       `json:"events"`
	Offset   string    `json:"place"` // of the first event in the topic
	Attempt  int       `json:"attempt"`
	Outcome  string    `json:"outcome"`
	Status   int       `json:"status,omitempty"`
	Error    string    `json:"error,omitempty"`
	Duration float64   `json:"durationMs"`
	Next     time.Time `json:"next,omitzero"`   // attempt at the same delivery, at the earliest
	Again    bool      `json:"again,omitempty"` // of a replay
}

// recorder writes the delivery log.
type recorder struct {
	w      io.Writer
	logger *slog.Logger

	mu     sync.Mutex
	broken bool // and logged it
}

func (l *recorder) write(endpoint string, r result, outcome string, next time.Time) {
	if l.w == nil {
		return
	}
	a := Attempt{
		Time: r.began.UTC(), Endpoint: endpoint, ID: r.id, Events: len(r.events), Offset: r.events[0].Offset,
		Attempt: r.attempt, Outcome: outcome, Status: r.status, Duration: milliseconds(r.elapsed),
		Again: r.lane != nil && r.lane.again,
	}
	if !next.IsZero() {
		a.Next = next.UTC()
	}
	if r.err != nil {
		a.Error = r.err.Error()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	line, err := json.Marshal(a)
	if err == nil {
		_, err = l.w.Write(append(line, '\n'))
	}
	if err != nil && !l.broken {
		l.logger.Error("webhook: delivery log cannot be written", "error", err)
	}
	l.broken = err != nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

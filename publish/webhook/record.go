package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// What came of an attempt, in the delivery log.
const (
	attemptDelivered = "delivered"
	attemptFailed    = "failed"
	attemptDead      = "dead" // the last one
)

// attempt is one line of the delivery log.
type attempt struct {
	Time     time.Time `json:"time"` // when it began
	Endpoint string    `json:"endpoint"`
	ID       string    `json:"webhookId"`
	Events   int       `json:"events"`
	Place    string    `json:"place"` // of the first event in the topic
	Attempt  int       `json:"attempt"`
	Outcome  string    `json:"outcome"`
	Status   int       `json:"status,omitempty"`
	Error    string    `json:"error,omitempty"`
	Duration float64   `json:"durationMs"`
	Next     time.Time `json:"next,omitzero"` // attempt at the same delivery, at the earliest
}

// recorder writes the delivery log. It is used by one goroutine.
type recorder struct {
	w      io.Writer
	logger *slog.Logger
	broken bool // and said so
}

func (l *recorder) write(endpoint string, r result, outcome string, next time.Time) {
	if l.w == nil {
		return
	}
	a := attempt{
		Time: r.began.UTC(), Endpoint: endpoint, ID: r.id, Events: len(r.events), Place: r.events[0].Place,
		Attempt: r.attempt, Outcome: outcome, Status: r.status, Duration: float64(r.took.Microseconds()) / 1000,
	}
	if !next.IsZero() {
		a.Next = next.UTC()
	}
	if r.err != nil {
		a.Error = r.err.Error()
	}
	line, err := json.Marshal(a)
	if err == nil {
		_, err = l.w.Write(append(line, '\n'))
	}
	if err != nil && !l.broken {
		l.logger.Error("webhook: delivery log cannot be written", "error", err)
	}
	l.broken = err != nil
}

// Log is a file that is renamed and begun anew before it exceeds a size: FILE.1 is the one before it, then FILE.2.
// Rotated here because the program must be safe to leave alone where nothing else rotates logs. It is safe for
// concurrent use, and several endpoints may share one.
type Log struct {
	path string
	most int64
	keep int

	mu   sync.Mutex
	file *os.File
	size int64
}

// OpenLog goes on with the file at path, or makes it. Besides it, keep old files are kept.
func OpenLog(path string, maxBytes int64, keep int) (*Log, error) {
	l := &Log{path: path, most: maxBytes, keep: keep}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open delivery log: %w", err)
	}
	return l, nil
}

func (l *Log) open() error {
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write implements io.Writer: p is never split between files.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || l.size > 0 && l.size+int64(len(p)) > l.most {
		if err := l.rotate(); err != nil {
			return 0, fmt.Errorf("rotate %s: %w", l.path, err)
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

// rotate leaves l without a file when it fails; the next Write tries again.
func (l *Log) rotate() error {
	if l.file != nil {
		err := l.file.Close()
		l.file = nil
		if err != nil {
			return err
		}
		if err := l.shift(); err != nil {
			return err
		}
	}
	return l.open()
}

func (l *Log) shift() error {
	if l.keep <= 0 {
		return os.Remove(l.path)
	}
	for i := l.keep - 1; i >= 0; i-- {
		if err := os.Rename(l.name(i), l.name(i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (l *Log) name(i int) string {
	if i == 0 {
		return l.path
	}
	return fmt.Sprintf("%s.%d", l.path, i)
}

// Close ends writing.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

package jetstream

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"

	"refrain/topic"
)

// logger passes the server's log on and remembers two lines of it. The server answers a disk error with silence, so
// the log is the only place where the reason stands.
type logger struct {
	to     *slog.Logger
	last   atomic.Pointer[string] // the last error
	broken atomic.Pointer[string] // the first write error; after one the server takes nothing until it is restarted

	stopped chan struct{} // closed with it
}

func newLogger(to *slog.Logger) *logger { return &logger{to: to, stopped: make(chan struct{})} }

var _ server.Logger = (*logger)(nil)

// Noticef is for a server's operator; inside this program it is a detail.
func (l *logger) Noticef(format string, v ...any) { l.to.Debug(line(format, v), "component", "nats") }

// Warnf implements server.Logger.
func (l *logger) Warnf(format string, v ...any) { l.to.Warn(line(format, v), "component", "nats") }

// Fatalf only logs: whether the program ends is decided by whoever started the server.
func (l *logger) Fatalf(format string, v ...any) { l.Errorf(format, v...) }

// Errorf implements server.Logger.
func (l *logger) Errorf(format string, v ...any) {
	s := line(format, v)
	l.last.Store(&s)
	if isWriteError(s) && l.broken.CompareAndSwap(nil, &s) {
		close(l.stopped)
	}
	l.to.Error(s, "component", "nats")
}

// Debugf implements server.Logger.
func (l *logger) Debugf(format string, v ...any) { l.to.Debug(line(format, v), "component", "nats") }

// Tracef implements server.Logger. The server is never asked to trace.
func (l *logger) Tracef(string, ...any) {}

// noSpace is how the kernel says that a disk is full.
const noSpace = "no space left on device"

func isWriteError(line string) bool {
	return strings.Contains(strings.ToLower(line), "critical write error") || strings.Contains(line, noSpace)
}

// check reports the write error that has stopped the server.
func (l *logger) check() error {
	s := l.broken.Load()
	if s == nil {
		return nil
	}
	err := fmt.Errorf("the server has stopped writing (%s): restart when the cause is gone", *s)
	if strings.Contains(*s, noSpace) {
		return fmt.Errorf("%w: %w", topic.ErrFull, err)
	}
	return err
}

// hint is the last error as the end of a message.
func (l *logger) hint() string {
	if s := l.last.Load(); s != nil {
		return ": the server's last error was: " + *s
	}
	return ""
}

func line(format string, v []any) string { return fmt.Sprintf(format, v...) }

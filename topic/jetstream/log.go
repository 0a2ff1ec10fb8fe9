package jetstream

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
)

// logger passes the server's log on and remembers its last error: the server answers a disk error with silence,
// and the log is the only place where the reason stands.
type logger struct {
	to   *slog.Logger
	last atomic.Pointer[string]
}

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
	l.to.Error(s, "component", "nats")
}

// Debugf implements server.Logger.
func (l *logger) Debugf(format string, v ...any) { l.to.Debug(line(format, v), "component", "nats") }

// Tracef implements server.Logger. The server is never asked to trace.
func (l *logger) Tracef(string, ...any) {}

// hint is the last error as the end of a message.
func (l *logger) hint() string {
	if s := l.last.Load(); s != nil {
		return ": the server's last error was: " + *s
	}
	return ""
}

func line(format string, v []any) string { return fmt.Sprintf(format, v...) }

package publish

import (
	"bufio"
	"context"
	"io"
	"sync"
	"time"
)

// flushDelay is how long a line may wait in the buffer for company.
const flushDelay = 50 * time.Millisecond

// Lines writes events to a file or to standard output, one a line. It is safe for concurrent use.
type Lines struct {
	mu      sync.Mutex
	out     *bufio.Writer
	err     error // the first one: nothing is written after it
	pending *time.Timer
}

var _ Sink = (*Lines)(nil)

// NewLines returns a sink on w, which stays the caller's to close, after Flush.
func NewLines(w io.Writer) *Lines { return &Lines{out: bufio.NewWriterSize(w, 64<<10)} }

// Append writes one event to the buffer, which is flushed when it is full or when nothing has been flushed for a
// moment. Its error may be that of an earlier event.
func (l *Lines) Append(event []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(event)
	if l.pending == nil && l.err == nil {
		l.pending = time.AfterFunc(flushDelay, func() { _ = l.Flush() }) // its error stays in l.err
	}
	return l.err
}

// Publish implements Sink: when it returns nil the events have left the process.
func (l *Lines) Publish(_ context.Context, events []Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range events {
		l.write(events[i].Data)
	}
	return l.flush()
}

// Flush writes out what is buffered.
func (l *Lines) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flush()
}

func (l *Lines) write(event []byte) {
	if l.err != nil {
		return
	}
	if _, l.err = l.out.Write(event); l.err == nil {
		l.err = l.out.WriteByte('\n')
	}
}

func (l *Lines) flush() error {
	if l.pending != nil {
		l.pending.Stop()
		l.pending = nil
	}
	if l.err == nil {
		l.err = l.out.Flush()
	}
	return l.err
}

package terminal

import (
	"io"
	"strings"
	"sync"
)

// Status is one line at the bottom of a terminal that is redrawn in place. Where the output is no terminal,
// or the Status is nil, nothing is drawn. Any goroutine may use it.
type Status struct {
	w       io.Writer
	options Options

	mu   sync.Mutex
	line string
}

// NewStatus returns a status line on w.
func NewStatus(w io.Writer, o Options) *Status { return &Status{w: w, options: o} }

// Active reports whether anybody sees the line.
func (s *Status) Active() bool { return s != nil && s.options.Live }

// Set draws the line in place of the one before.
func (s *Status) Set(line string) {
	if !s.Active() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = line
	s.draw()
}

// Clear takes the line off the screen.
func (s *Status) Clear() { s.Set("") }

// withoutLine takes the line off the screen while print writes to it.
func (s *Status) withoutLine(print func()) {
	if !s.Active() {
		print()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" {
		print()
		return
	}
	_, _ = io.WriteString(s.w, erase)
	print()
	s.draw()
}

// erase goes to the beginning of the line and clears it.
const erase = "\r\x1b[K"

// draw writes the line, one column short of the edge, where some terminals would wrap. Nobody can be told
// that the screen is gone; what else is written there will report it.
func (s *Status) draw() {
	var b strings.Builder
	b.WriteString(erase)
	row := s.options.cells([]run{{Clean(s.line), dim}})
	if width := s.options.width(); width > 0 {
		row = truncate(row, max(width-1, 1))
	}
	s.options.render(&b, row)
	_, _ = io.WriteString(s.w, b.String())
}

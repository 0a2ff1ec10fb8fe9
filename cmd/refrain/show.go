package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"refrain/feed"
	"refrain/internal/terminal"
)

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// shown prints events for a person to read.
type shown struct{ printer *terminal.Printer }

func (s shown) write(matches []feed.Match) error {
	for i := range matches {
		if err := s.printer.Event(&matches[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s shown) close() error { return nil }

package main

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func newTerminalOutput(w io.Writer) output { return nil }

type progress struct{}

func (d *detection) newProgress() *progress { return &progress{} }
func (p *progress) update()                 {}
func (p *progress) finish()                 {}

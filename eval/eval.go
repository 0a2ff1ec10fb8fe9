// Package eval is what the tables of docs/evaluation.md have in common: how good codes and searches are on real text, where
// bench says how fast they are.
//
// A table is a function from a Config to a report.Report.
package eval

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"refrain/eval/corpus"
	"refrain/internal/report"
)

// Config is what all tables are told.
type Config struct {
	Data    string // folder of the data set, with stream/ and news/ below it
	Quick   bool   // small sizes: to see that it works
	Seed    uint64 // of all random choices
	Command string // what the reader types to measure it again
	Folder  string // where plots go; "": nowhere

	Step   func(format string, args ...any) // told when something is done; may be nil
	Status func(line string)                // what is being done now; may be nil

	read map[string]*corpus.Sentences
}

// Say tells that something is done.
func (c *Config) Say(format string, args ...any) {
	if c.Step != nil {
		c.Step(format, args...)
	}
}

// Now tells what is being done.
func (c *Config) Now(format string, args ...any) {
	if c.Status != nil {
		c.Status(fmt.Sprintf(format, args...))
	}
}

// Size is the usual one, or that of a quick run.
func Size[T any](c *Config, usual, quick T) T {
	if c.Quick {
		return quick
	}
	return usual
}

// quickSentences is how many of a corpus a quick run reads.
const quickSentences = 10_000

// Read reads a corpus by its name, or takes the one that was read last.
func (c *Config) Read(ctx context.Context, name string) (*corpus.Sentences, error) {
	if s, ok := c.read[name]; ok {
		return s, nil
	}
	found, err := corpus.Find(name)
	if err != nil {
		return nil, err
	}
	c.Now("reading %s", name)
	s, err := found.Read(ctx, c.Data, Size(c, 0, quickSentences))
	if err != nil {
		return nil, err
	}
	c.read = map[string]*corpus.Sentences{name: s}
	return s, nil
}

// Report begins a report.
func (c *Config) Report(name, title, data string) *report.Report {
	return report.New(name, title, data, c.Command)
}

// Plot writes a plot beside the document, and shows it in the report.
func (c *Config) Plot(r *report.Report, file string, p *report.Plot) error {
	if c.Folder == "" {
		return nil
	}
	r.Plot = file
	return report.WriteFile(filepath.Join(c.Folder, file), p.SVG())
}

// Interrupted is the error of a context that has ended.
func Interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return nil
}

// Package eval is what the tables of docs/measurements/evaluation.md have in common: how good codes and searches are on
// real text, where bench says how fast they are.
//
// A table is a function from a Config to a report.Report.
package eval

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"refrain/lab/eval/corpus"
	"refrain/lab/report"
)

// Config is what all tables are told.
type Config struct {
	Data    string // folder of the data set, with stream/ and news/ below it
	Quick   bool   // small sizes: to see that it works
	Seed    uint64 // of all random choices
	Command string // what the reader types to measure it again
	Folder  string // where plots go; "": nowhere
	Models  string // folder in which learned models are kept for another run; "": nowhere

	Step   func(format string, args ...any) // told when something is done; may be nil
	Status func(line string)                // what is being done now; may be nil

	cache map[string]any // by Once
}

// Once makes something for the first table that asks for it under a key, and keeps it for the next: codes that took minutes
// to learn are in several tables.
func Once[T any](c *Config, key string, make func() (T, error)) (T, error) {
	if v, ok := c.cache[key]; ok {
		return v.(T), nil
	}
	v, err := make()
	if err != nil {
		return v, err
	}
	if c.cache == nil {
		c.cache = map[string]any{}
	}
	c.cache[key] = v
	return v, nil
}

// Logf tells that something is done.
func (c *Config) Logf(format string, args ...any) {
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

// Read reads a corpus by its name, once for all tables.
func (c *Config) Read(ctx context.Context, name string) (*corpus.Sentences, error) {
	return Once(c, "sentences "+name, func() (*corpus.Sentences, error) {
		found, err := corpus.Find(name)
		if err != nil {
			return nil, err
		}
		c.Now("reading %s", name)
		return found.Read(ctx, c.Data, Size(c, 0, quickSentences))
	})
}

// Report begins a report.
func (c *Config) Report(name, title, data string) *report.Report {
	return report.New(name, title, data, c.Command)
}

// Plot writes a plot, or several in one file, beside the document, and shows it in the report.
func (c *Config) Plot(r *report.Report, file string, p interface{ SVG() []byte }) error {
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

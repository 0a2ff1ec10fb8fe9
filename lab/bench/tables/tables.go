// Package tables measures the program on real data and writes the tables of docs/measurements/benchmarks.md: one file a
// table.
//
// A table is a function from a Config to a Report, which prints itself as Markdown. Whatever is compared with something
// is measured beside it, in the same run and in turns; figures are medians of the runs.
package tables

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"refrain/detector"
	"refrain/hashcodes"
	"refrain/lab/report"
	"refrain/text"
)

// Config is what all tables are told.
type Config struct {
	Data    string   // folder of the data set, with stream/ below it
	Runs    int      // of a figure; the median counts
	Quick   bool     // small sizes: to see that it works
	Command string   // what the reader types to measure it again
	Refrain string   // the binary that some tables start, to measure it from outside
	Self    string   // this program's own, for what is measured in a process of its own
	Engines []Engine // to compare

	Step   func(format string, args ...any) // told when something is done; may be nil
	Status func(line string)                // what is being done now; may be nil
}

// Engine is one way to find candidates, by the name of the flag.
type Engine struct {
	Name string
	Make detector.Engine
}

// report begins a report.
func (c *Config) report(name, title, data string) *report.Report {
	return report.New(name, title, data, c.Command)
}

func (c *Config) step(format string, args ...any) {
	if c.Step != nil {
		c.Step(format, args...)
	}
}

func (c *Config) status(format string, args ...any) {
	if c.Status != nil {
		c.Status(fmt.Sprintf(format, args...))
	}
}

// size is the usual one, or that of a quick run.
func size[T any](c *Config, usual, quick T) T {
	if c.Quick {
		return quick
	}
	return usual
}

// OptionError says what is wrong with an option, before anything is measured.
type OptionError struct{ error }

func optionError(format string, args ...any) error { return OptionError{fmt.Errorf(format, args...)} }

// wantPositive says that an option is not as it must be: there, and each of it more than 0.
func wantPositive[N int | time.Duration](name string, values ...N) error {
	if len(values) == 0 || slices.Min(values) <= 0 {
		return optionError("%s %v: want more than 0", name, values)
	}
	return nil
}

// wantSome says that a list is empty.
func wantSome(name string, values []string) error {
	if len(values) == 0 {
		return optionError("no %s", name)
	}
	return nil
}

// engine finds an engine by its name.
func (c *Config) engine(name string) (detector.Engine, error) {
	i := slices.IndexFunc(c.Engines, func(e Engine) bool { return e.Name == name })
	if i < 0 {
		return nil, optionError("there is no engine %q", name)
	}
	return c.Engines[i].Make, nil
}

// ErrNoData means that the files to measure on are not there.
var ErrNoData = errors.New("no data (--data DIR, or REFRAIN_DATA)")

// Ira is the file that most of what is measured end to end reads.
const Ira = "stream/ira_2012-02_2016-08.jsonl.zst"

// file is the path of a file of the data set.
func (c *Config) file(name string) (string, error) {
	path := filepath.Join(c.Data, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoData, err)
	}
	return path, nil
}

// model is the one that the program has by default.
func model() (*hashcodes.Model, error) { return hashcodes.NewMD5(64, 1) }

// thresholds reads several.
func thresholds(list []string) (all []text.Threshold, err error) {
	for _, s := range list {
		t, err := text.ParseThreshold(s)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// median of some figures; their order is lost.
func median(figures []float64) float64 {
	if len(figures) == 0 {
		return 0
	}
	slices.Sort(figures)
	n := len(figures)
	return (figures[(n-1)/2] + figures[n/2]) / 2
}

// medians says in a note what the figures are.
func (c *Config) medians() string {
	if c.Runs == 1 {
		return "one run"
	}
	return fmt.Sprintf("medians of %d runs", c.Runs)
}

// decimal writes a threshold as the flag takes it.
func decimal(t text.Threshold) string { return fmt.Sprintf("%.4g", t.Float()) }

// interrupted is the error of a context that has ended.
func interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return nil
}

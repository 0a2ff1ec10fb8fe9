// Package output prints the events of a run: as JSON lines, for a spreadsheet, as a table, or in colours on a terminal; all
// of them, one text's, or the texts that are repeated most.
package output

import (
	"io"
	"slices"

	"refrain/feed"
	"refrain/internal/terminal"
	"refrain/text"
)

// Formats are their names. None of them means JSON lines in a file or a pipe, what a person reads on a terminal, and a
// table of the texts that are repeated most, or of one text's posts.
var Formats = []string{"jsonl", "csv", "tsv", "table"}

// Config says what is printed of the events, and how.
type Config struct {
	To      io.Writer
	Format  string       // of Formats, or ""
	Top     int          // the texts that are repeated most, so many of them; 0: events
	Group   string       // the posts of one text: its group, or how that begins; "": events
	Measure text.Measure // by which texts of Top count as one
	Status  *terminal.Status
	Filter  Filter
}

// Output takes the events of a run.
type Output interface {
	Write([]feed.Match) error
	Close() error
}

// New returns the output of a configuration. It changes the slices that it is given.
func New(cfg Config) *Filtered { return &Filtered{Filter: cfg.Filter, to: cfg.open()} }

func (cfg *Config) open() Output {
	switch format := cfg.Format; {
	case cfg.Group != "":
		return &posts{rows: cfg.rows(postColumns), group: cfg.Group}
	case cfg.Top > 0:
		return newTop(cfg.Top, cfg.Measure, cfg.rows(topColumns))
	case format == "" && terminal.Detect(cfg.To).Width != nil:
		return shown{terminal.NewPrinter(cfg.To, terminal.Detect(cfg.To), cfg.Status)}
	case format == "" || format == "jsonl":
		return newLines(cfg.To)
	default:
		return events{cfg.rows(eventColumns)}
	}
}

// Filtered leaves events out on their way to an output.
type Filtered struct {
	Filter
	Written, LeftOut int // events
	to               Output
}

// Write passes on what the filter allows.
func (f *Filtered) Write(matches []feed.Match) error {
	allowed := slices.DeleteFunc(matches, func(m feed.Match) bool { return !f.allows(&m) })
	if err := f.to.Write(allowed); err != nil {
		return err
	}
	f.Written += len(allowed)
	f.LeftOut += len(matches) - len(allowed)
	return nil
}

// Close prints what waits for the end of the run.
func (f *Filtered) Close() error { return f.to.Close() }

// shown prints events for a person to read.
type shown struct{ printer *terminal.Printer }

func (s shown) Write(matches []feed.Match) error {
	for i := range matches {
		if err := s.printer.Event(&matches[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s shown) Close() error { return nil }

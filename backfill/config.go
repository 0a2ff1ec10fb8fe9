package backfill

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/file"
	"refrain/internal/units"
	"refrain/text"
)

// Config says what to read, what to find, and where to. Default has values for all but Files and Out.
type Config struct {
	Files []string // archives, in any order; gzip and zstd are recognised
	Out   string   // the folder of what is found

	Format string       // of the files, "": by their names; see package ingest/file
	Fields *feed.Fields // names of the fields, nil: our own
	Map    string       // as Fields were given, for the settings
	Source string       // of posts that name none

	Preset               string        // as Fields were given it, for the settings
	HTML                 bool          // the same
	Include              *file.Include // what the records of a page refer to; nil: nothing
	Timezone, TimeFormat string        // as Fields were given them, for the settings
	Encoding, RecordsAt  string        // of files that are not UTF-8, or have their posts within objects
	Strict               bool          // the first record that is no post is an error
	Batch                int           // posts read and handed on at once

	Window    detector.Config // what is an event
	Slice     time.Duration   // length of a slice, whole seconds
	KeepFirst bool            // write the posts that do not repeat earlier ones, too
	NoEvents  bool            // write those posts alone: events take more room than what they are of
	Coverage  text.Threshold  // the least share of a post's tokens in sentences that repeat, for the post to go

	Part, Parts int // of all slices those numbered Part, Part + Parts, …: 1 of 1 are all
	Columns     int // passes over a slice, each with so large a part of the window
	Partitions  int // windows to cut a pass into, each with a goroutine of its own
	Workers     int // slices at once, or goroutines of one slice where Columns has several
	SortBytes   int // of posts that are sorted in memory, at once, by all workers; as many as fit stay there

	OnRecognised func(path, what string) // told what a file was found to be, whose name does not say it; nil: nobody is

	Note     func(*ingest.Batch) // told of what was rejected or changed, in the order of the files
	Progress func(Progress)      // told now and then, by any goroutine
	Estimate func(Estimate)      // told what it will take, as soon as that can be estimated, and when all files have been read

	create func(path string) (io.WriteCloser, error) // of files; tests fill disks
}

// Default is a backfill by weeks of all slices, with the window of detector.Default, on all cores.
func Default() Config {
	return Config{
		Window: detector.Default(), Slice: 7 * 24 * time.Hour, Coverage: text.Threshold{Num: 1, Den: 1},
		Part: 1, Parts: 1, Columns: 1, Partitions: 1, Workers: runtime.GOMAXPROCS(0), SortBytes: 128 << 20, Batch: 500,
		Note: func(*ingest.Batch) {}, Progress: func(Progress) {},
		Estimate: func(Estimate) {}, create: createFile,
	}
}

func createFile(path string) (io.WriteCloser, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
}

// MaxColumns is more than one window is ever cut into: by columns, or by partitions.
const MaxColumns = 1 << 16

func (c *Config) validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(len(c.Files) > 0, "no files")
	want(c.Out != "", "no folder for what is found")
	want(c.Slice >= time.Second && c.Slice%time.Second == 0, "slice %v: want whole seconds, 1s or more", c.Slice)
	want(c.Parts >= 1 && c.Part >= 1 && c.Part <= c.Parts, "slices %d/%d: want 1/n to n/n", c.Part, c.Parts)
	want(c.Columns >= 1 && c.Partitions >= 1 && c.Columns <= MaxColumns && c.Partitions <= MaxColumns,
		"columns %d, partitions %d: want 1 to %d", c.Columns, c.Partitions, MaxColumns)
	want(c.KeepFirst || !c.NoEvents, "nothing to write: neither posts nor events")
	want(c.Workers >= 1, "workers %d: want 1 or more", c.Workers)
	want(c.SortBytes >= 1 && c.Batch >= 1, "sort bytes %d, batch %d: want 1 or more", c.SortBytes, c.Batch)
	want(c.Coverage.Num > 0 && c.Coverage.Num <= c.Coverage.Den, "coverage: want more than 0 and at most 1")
	return errors.Join(errs...)
}

// Settings are what decides what a backfill finds: a folder holds what one of them has found.
type Settings struct {
	Text       int    `json:"text"` // version of the rules of text
	Measure    string `json:"measure"`
	Threshold  string `json:"threshold"`
	Span       string `json:"span"`
	Slice      string `json:"slice"`
	Lateness   string `json:"lateness"`
	MinTokens  int    `json:"min-tokens"`
	MaxMatches int    `json:"max-matches"`
	Texts      bool   `json:"texts"`
	Budget     int64  `json:"budget"`
	Model      string `json:"model"`
	Format     string `json:"format"`
	Map        string `json:"map"`
	Source     string `json:"source"`
	Preset     string `json:"preset,omitempty"`
	HTML       bool   `json:"html,omitempty"`
	Timezone   string `json:"tz,omitempty"`
	TimeFormat string `json:"time-format,omitempty"`
	Encoding   string `json:"encoding,omitempty"`
	Records    string `json:"records,omitempty"`
	Keep       string `json:"keep"`
	Coverage   string `json:"coverage"`
	NoEvents   bool   `json:"without-events"`
}

func (c *Config) settings() Settings {
	w := &c.Window
	s := Settings{
		Text: text.Version, Measure: w.Similarity.String(), Threshold: w.Threshold.String(),
		Span: units.FormatDuration(w.Span), Slice: units.FormatDuration(c.Slice), Lateness: units.FormatDuration(w.Lateness),
		MinTokens: w.MinTokens, MaxMatches: w.MaxMatches, Texts: !w.OmitTexts, Budget: w.Budget, Model: w.Model.Name(),
		Format: c.Format, Map: c.Map, Source: c.Source, NoEvents: c.NoEvents, Preset: c.Preset, HTML: c.HTML, Timezone: c.Timezone,
		TimeFormat: c.TimeFormat, Encoding: c.Encoding, Records: c.RecordsAt,
	}
	if c.KeepFirst {
		s.Keep, s.Coverage = "first", c.Coverage.String()
	}
	return s
}

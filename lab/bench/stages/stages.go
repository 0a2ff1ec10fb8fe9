// Package stages says where the time of a post goes in `refrain detect`: every stage of its route, one after the other
// in one goroutine, on the posts of a file.
//
// What it measures is the CPU time of the process, not the clock on the wall: so it may share a machine. A stage pays
// for the garbage collection that happens while it runs.
package stages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/metrics"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/ingest/file"
	"refrain/internal/detection"
	"refrain/lab/cpu"
	"refrain/text"
)

// Config says what to measure. Default has values for all of it but the path.
type Config struct {
	Path      string          // of a file of posts
	Posts     int             // of the file, about; 0: all
	MinTokens int             // words of a sentence that is compared, 0 or more
	Window    detector.Config // what detect looks up in, and how
	Out       io.Writer       // where the events go
}

// Default is detect as it is by default, with events that go nowhere.
func Default() Config {
	return Config{MinTokens: text.DefaultMinTokens, Window: detector.Default(), Out: io.Discard}
}

// Stage is what one stage took in all.
type Stage struct {
	Name, WhatItDoes string
	CPU              time.Duration
	Allocs, Bytes    uint64 // on the heap
}

// Table is what the stages took for so many posts.
type Table struct {
	Posts, Sentences, Events int
	EventBytes               int64
	Stages                   []Stage
}

// The stages in the order of the route.
const (
	read = iota
	decode
	split
	detect
	encode
	write
)

func newTable() Table {
	return Table{Stages: []Stage{
		read:   {Name: "read", WhatItDoes: "decompress, cut into lines"},
		decode: {Name: "decode", WhatItDoes: "JSON to posts"},
		split:  {Name: "split", WhatItDoes: "normalise, sentences, tokens, hashes, sets"},
		detect: {Name: "detect", WhatItDoes: "look up, verify, insert, expire"},
		encode: {Name: "encode", WhatItDoes: "events to JSON"},
		write:  {Name: "write", WhatItDoes: "to the output"},
	}}
}

// Measure runs the stages. Run it with GOMAXPROCS=1: else the collector works beside them, on their account.
func Measure(ctx context.Context, cfg Config) (Table, error) {
	t := newTable()
	f, err := file.Open(file.Default(cfg.Path))
	if err != nil {
		return t, err
	}
	defer f.Close()
	windows, err := detector.NewPartitions(cfg.Window, 1, 1)
	if err != nil {
		return t, err
	}
	r := route{
		cfg: cfg, table: &t, file: f,
		splitter: detection.NewSplitter(f, cfg.MinTokens), detector: detection.Detector{Windows: windows},
	}
	for err == nil && (cfg.Posts == 0 || t.Posts < cfg.Posts) {
		err = r.part(ctx)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return t, err
}

// route is the route of detect, in one goroutine.
type route struct {
	cfg      Config
	table    *Table
	file     *file.Source
	splitter *detection.Splitter
	detector detection.Detector
	p        detection.Part
	out      []byte

	began         time.Duration // of the processor's time; see begin
	allocs, bytes uint64        // likewise
	samples       [2]metrics.Sample
}

// part carries one part along the route.
func (r *route) part(ctx context.Context) (err error) {
	r.stage(read, func() { err = r.file.Read(ctx, &r.p.Part) })
	if err != nil {
		return err
	}
	var refused error
	r.stage(decode, func() {
		r.splitter.Decode(&r.p)
		refused = r.splitter.Stamp(ctx, &r.p)
	})
	r.stage(split, func() { r.splitter.Split(&r.p) })
	if err := r.detect(); err != nil {
		return err
	}
	t := r.table
	t.Posts += len(r.p.Batch.Posts)
	t.Sentences += len(r.p.Sentences)
	t.Events += r.p.Events
	return refused
}

// detect finds the matches. Where they are many, most are written before the end of the part, on the account of those
// stages.
func (r *route) detect() (err error) {
	r.stage(detect, func() {
		err = r.detector.Detect(&r.p, func(matches []feed.Match) error {
			r.end(detect)
			defer r.begin()
			return r.write(matches)
		})
		if err == nil {
			r.detector.Advance(&r.p)
		}
	})
	if err != nil {
		return err
	}
	return r.write(r.p.Matches)
}

// write makes JSON of matches, and writes it.
func (r *route) write(matches []feed.Match) (err error) {
	r.stage(encode, func() {
		r.out = r.out[:0]
		for i := range matches {
			r.out = append(matches[i].AppendEvent(r.out, "refrain"), '\n')
		}
	})
	r.stage(write, func() {
		if len(r.out) > 0 {
			_, err = r.cfg.Out.Write(r.out)
		}
	})
	r.table.EventBytes += int64(len(r.out))
	return err
}

// stage does some work on the account of a stage.
func (r *route) stage(i int, work func()) {
	r.begin()
	work()
	r.end(i)
}

func (r *route) begin() {
	r.allocs, r.bytes = r.allocated()
	r.began = cpu.Time()
}

// end puts what was done since begin on the account of a stage.
func (r *route) end(i int) {
	s := &r.table.Stages[i]
	s.CPU += cpu.Time() - r.began
	allocs, bytes := r.allocated()
	s.Allocs, s.Bytes = s.Allocs+allocs-r.allocs, s.Bytes+bytes-r.bytes
}

func (r *route) allocated() (objects, bytes uint64) {
	s := r.samples[:]
	s[0].Name, s[1].Name = "/gc/heap/allocs:objects", "/gc/heap/allocs:bytes"
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}

// Write writes t as a table: CPU microseconds, allocations and bytes allocated, each per post.
func (t *Table) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d posts, %d sentences compared, %d events of %d bytes\n\n| stage | µs/post | "+
		"allocs/post | B/post | what |\n|---|---|---|---|---|\n",
		t.Posts, t.Sentences, t.Events, t.EventBytes/int64(max(t.Events, 1)))
	var all Stage
	for _, s := range t.Stages {
		all.CPU, all.Allocs, all.Bytes = all.CPU+s.CPU, all.Allocs+s.Allocs, all.Bytes+s.Bytes
		err = errors.Join(err, t.row(w, &s))
	}
	all.Name = "all"
	return errors.Join(err, t.row(w, &all))
}

func (t *Table) row(w io.Writer, s *Stage) error {
	n := float64(max(t.Posts, 1))
	_, err := fmt.Fprintf(w, "| %s | %.3f | %.2f | %.0f | %s |\n", s.Name, float64(s.CPU)/1e3/n, float64(s.Allocs)/n,
		float64(s.Bytes)/n, s.WhatItDoes)
	return err
}

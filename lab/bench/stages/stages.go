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
	"refrain/lab/cpu"
	"refrain/split"
	"refrain/text"
)

// Config says what to measure.
type Config struct {
	Path      string          // of a file of posts
	Posts     int             // of the file; 0: all
	MinTokens int             // 0: 4
	Window    detector.Config // what detect looks up in, and how
	Out       io.Writer       // where the events go
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
	cut
	detect
	encode
	write
)

func newTable() Table {
	return Table{Stages: []Stage{
		read:   {Name: "read", WhatItDoes: "decompress, cut into lines"},
		decode: {Name: "decode", WhatItDoes: "JSON to posts"},
		cut:    {Name: "split", WhatItDoes: "normalise, sentences, tokens, hashes, sets"},
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
	if cfg.MinTokens == 0 {
		cfg.MinTokens = 4
	}
	r := route{cfg: cfg, table: &t, file: f, decoder: f.NewDecoder(), windows: windows}
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
	cfg       Config
	table     *Table
	file      *file.Source
	decoder   file.Decoder
	splitter  text.Splitter
	windows   *detector.Partitions
	clock     split.Clock
	p         file.Part
	sentences []feed.Sentence
	matches   []feed.Match
	out       []byte
	samples   [2]metrics.Sample
}

// part carries one part along the route.
func (r *route) part(ctx context.Context) (err error) {
	r.stage(read, func() { err = r.file.Read(ctx, &r.p) })
	if err != nil {
		return err
	}
	r.stage(decode, func() {
		r.decoder.Decode(&r.p)
		err = r.file.Settle(ctx, &r.p)
	})
	r.stage(cut, r.split)
	r.stage(detect, r.detect)
	r.stage(encode, func() {
		r.out = r.out[:0]
		for i := range r.matches {
			r.out = append(r.matches[i].AppendEvent(r.out, "refrain"), '\n')
		}
	})
	r.stage(write, func() {
		if err == nil && len(r.out) > 0 {
			_, err = r.cfg.Out.Write(r.out)
		}
	})
	t := r.table
	t.Posts += len(r.p.Batch.Posts)
	t.Sentences += len(r.sentences)
	t.Events += len(r.matches)
	t.EventBytes += int64(len(r.out))
	return err
}

func (r *route) split() {
	r.sentences = r.sentences[:0]
	for i := range r.p.Batch.Posts {
		r.sentences, _ = r.splitter.Sentences(r.sentences, &r.p.Batch.Posts[i], r.cfg.MinTokens)
	}
}

func (r *route) detect() {
	r.matches, _ = r.windows.Detect(r.matches[:0], r.sentences)
	for i := range r.p.Batch.Posts {
		r.clock.Add(r.p.Batch.Posts[i].Time)
	}
	if w, ok := r.clock.Time(); ok {
		r.windows.Advance(w)
	}
}

// stage does some work on the account of a stage.
func (r *route) stage(i int, work func()) {
	s := &r.table.Stages[i]
	allocs, bytes := r.allocated()
	begin := cpu.Time()
	work()
	s.CPU += cpu.Time() - begin
	allocsNow, bytesNow := r.allocated()
	s.Allocs, s.Bytes = s.Allocs+allocsNow-allocs, s.Bytes+bytesNow-bytes
}

func (r *route) allocated() (objects, bytes uint64) {
	s := r.samples[:]
	s[0].Name, s[1].Name = "/gc/heap/allocs:objects", "/gc/heap/allocs:bytes"
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}

// Write writes t as a table: CPU microseconds, allocations and bytes allocated, each per post.
func (t *Table) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d posts, %d sentences compared, %d events of %d bytes\n\n| stage | µs/post | allocs/post | B/post | what |\n|---|---|---|---|---|\n",
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
	_, err := fmt.Fprintf(w, "| %s | %.3f | %.2f | %.0f | %s |\n", s.Name, float64(s.CPU)/1e3/n, float64(s.Allocs)/n, float64(s.Bytes)/n, s.WhatItDoes)
	return err
}

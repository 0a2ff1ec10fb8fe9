// Command window plots how the memory of a window follows its content: docs/measurements/window.svg.
//
// It runs the posts of a file with their times compressed, so that a window of 24 hours fills, empties and rolls
// over many times, and samples what the window holds against what the process takes.
//
//	go run ./lab/bench/window --compress 100 --svg docs/measurements/window.svg posts.jsonl.zst > window.csv
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/ingest/file"
	"refrain/internal/feedtime"
	"refrain/internal/memory"
	"refrain/text"
)

func main() {
	compress := flag.Float64("compress", 100, "how many times the times of the posts are compressed")
	span := flag.Duration("span", 24*time.Hour, "the span of the window")
	svg := flag.String("svg", "", "file to plot to")
	flag.Parse()
	memory.Frugal()
	if err := run(flag.Arg(0), *compress, *span, *svg); err != nil {
		fmt.Fprintln(os.Stderr, "window:", err)
		os.Exit(1)
	}
}

// sample is the state after some posts.
type sample struct {
	posts, texts, sentences int
	held, rss               int64 // bytes: of the window, of the process
}

func run(path string, compress float64, span time.Duration, svg string) error {
	src, err := file.Open(file.Default(path))
	if err != nil {
		return err
	}
	defer src.Close()
	d, err := newDetector(span)
	if err != nil {
		return err
	}
	m := meter{d: d, compress: compress}
	for {
		b, err := src.Next(context.Background())
		m.add(b.Posts)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	fmt.Println("posts,texts,sentences,window_bytes,rss_bytes,bytes_per_sentence")
	for _, s := range m.samples {
		fmt.Printf("%d,%d,%d,%d,%d,%.0f\n", s.posts, s.texts, s.sentences, s.held, s.rss, float64(s.held)/float64(s.sentences))
	}
	if svg == "" {
		return nil
	}
	return os.WriteFile(svg, plot(m.samples, span, compress), 0o644)
}

func newDetector(span time.Duration) (*detector.Partition, error) {
	model, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		return nil, err
	}
	cfg := detector.Default()
	cfg.Span, cfg.Model, cfg.Engine = span, model, detector.Prefix
	return detector.NewPartition(cfg)
}

// meter runs posts through a detector and samples it.
type meter struct {
	d        *detector.Partition
	compress float64
	begin    feed.Time
	clock    feedtime.Clock
	splitter text.Splitter
	batch    []feed.Sentence
	matches  []feed.Match
	posts    int
	release  memory.Keeper
	samples  []sample
}

const every = 10_000 // posts between samples

func (m *meter) add(posts []feed.Post) {
	m.batch = m.batch[:0]
	for i := range posts {
		p := &posts[i]
		if m.begin == 0 {
			m.begin = p.Time
		}
		p.Time = m.begin + feed.Time(float64(p.Time-m.begin)/m.compress)
		m.batch, _ = m.splitter.Sentences(m.batch, p, 4)
		m.clock.Add(p.Time)
	}
	for i := range m.batch {
		m.matches = m.d.LookupNew(m.matches[:0], &m.batch[i])
		m.d.Insert(&m.batch[i])
	}
	if w, ok := m.clock.Time(); ok {
		m.d.Advance(w)
	}
	before := m.posts / every
	m.posts += len(posts)
	s := m.d.Stats()
	m.release.Holds(s.Bytes)
	if m.posts/every > before {
		m.samples = append(m.samples, sample{m.posts, s.Groups, s.Occurrences, s.Bytes, memory.RSS()})
	}
}

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"io"
	"testing"

	"refrain/detector"
	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/file"
	"refrain/internal/dataset"
	"refrain/internal/detection"
	"refrain/internal/oracle"
	"refrain/text"
)

// Full asks for the sizes that the documentation quotes: an hour instead of a minute.
var Full = flag.Bool("full", false, "compare the whole grid of settings on whole files")

// SplitLines cuts posts into lines, each with its newline.
func SplitLines(posts []byte) [][]byte {
	all := bytes.SplitAfter(posts, []byte("\n"))
	return all[:len(all)-1] // what follows the last newline: nothing
}

// Lines returns the first n lines of a file of the data set, or all for 0.
func Lines(tb testing.TB, name string, n int) []byte {
	tb.Helper()
	return LinesFrom(tb, name, 0, n)
}

// LinesFrom is Lines from one of them on, counted from 0.
func LinesFrom(tb testing.TB, name string, from, n int) []byte {
	tb.Helper()
	file, err := oracle.Open(dataset.File(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	var out bytes.Buffer
	r := bufio.NewReaderSize(file, 1<<20)
	for i := 0; n == 0 || i < from+n; i++ {
		line, err := r.ReadBytes('\n')
		if i >= from {
			out.Write(line)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return out.Bytes()
}

// EdgePosts are the real posts that go through a broker, and how many.
func EdgePosts(tb testing.TB) ([]byte, int) {
	n := 6_000
	if *Full {
		n = 200_000
	}
	return Lines(tb, "stream/ira_2012-02_2016-08.jsonl.zst", n), n
}

// Settings are those of detect.
type Settings struct {
	Window              detector.Config
	MinTokens           int
	Partitions, Workers int
	Batch               int // posts read and handed on at once
	Sample              int // visit is called for one event of so many; 0: for all
}

// DefaultSettings are the program's.
func DefaultSettings() Settings {
	return Settings{Window: detector.Default(), MinTokens: text.DefaultMinTokens, Partitions: 1, Workers: 2, Batch: 500}
}

// Detect returns the ids of the events of posts in the order in which they are found, and calls visit, if it is not nil,
// with each event, or a sample of them, as it is written and read again.
func Detect(tb testing.TB, posts []byte, s Settings, visit func(*feed.Match)) []feed.Hash {
	tb.Helper()
	return DetectFrom(tb, bytes.NewReader(posts), s, visit)
}

// DetectFrom is Detect of more posts than one has in memory.
func DetectFrom(tb testing.TB, posts io.Reader, s Settings, visit func(*feed.Match)) (ids []feed.Hash) {
	tb.Helper()
	cfg := file.Default("-")
	cfg.Stdin, cfg.BatchPosts = posts, s.Batch
	src, err := file.Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	defer src.Close()
	windows, err := detector.NewPartitions(s.Window, s.Partitions, s.Workers)
	if err != nil {
		tb.Fatal(err)
	}
	_, err = detection.Run(context.Background(), detection.Config{
		Source: src, Windows: windows, MinTokens: s.MinTokens,
		Note: func(*ingest.Batch) {}, Progress: func(int64, int64) {},
		Write: func(matches []feed.Match) error {
			for i := range matches {
				ids = append(ids, matches[i].ID)
				if visit == nil || (len(ids)-1)%max(1, s.Sample) != 0 {
					continue
				}
				m, err := feed.DecodeEvent(matches[i].AppendEvent(nil, "refrain"))
				if err != nil {
					return err
				}
				visit(&m)
			}
			return nil
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return ids
}

package backfill_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"refrain/backfill"
	"refrain/detector"
	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/file"
	"refrain/internal/detection"
	"refrain/internal/e2e"
)

// processorTime is what this process has had of it.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// writeEvents is detect with its events in a file.
func writeEvents(tb testing.TB, posts []byte, s e2e.Settings) {
	tb.Helper()
	f, err := os.Create(filepath.Join(tb.TempDir(), "events.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	src, err := file.Open(file.Config{Path: "-", Stdin: bytes.NewReader(posts), BatchPosts: s.Batch})
	if err != nil {
		tb.Fatal(err)
	}
	windows, err := detector.NewPartitions(s.Window, 1, 1)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 64<<10)
	_, err = detection.Run(tb.Context(), detection.Config{
		Source: src, Windows: windows, MinTokens: s.MinTokens,
		Note: func(*ingest.Batch) {}, Progress: func(int64, int64) {},
		Write: func(matches []feed.Match) error {
			var line []byte
			for i := range matches {
				line = append(matches[i].AppendEvent(line[:0], "refrain"), '\n')
				if _, err := w.Write(line); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if err = errors.Join(err, w.Flush()); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkArchive compares a backfill on all cores with detect on one, over 200,000 posts of ira: "share" is posts a second as a
// share of detect · cores / (1 + span/slice), "cpu-share" the same by processor time, for machines with other work.
//
//	go test ./backfill -run xxx -bench Archive -benchtime 3x
func BenchmarkArchive(b *testing.B) {
	posts := e2e.Lines(b, "stream/ira_2012-02_2016-08.jsonl.zst", 200_000)
	n := float64(len(e2e.SplitLines(posts)))
	files := archive(b, posts)
	cores := runtime.GOMAXPROCS(0)
	for _, span := range []time.Duration{24 * time.Hour, 7 * 24 * time.Hour} {
		s := e2e.DefaultSettings()
		s.Window.Span = span
		for _, days := range []int{1, 7, 30, 3650} {
			slice := time.Duration(days) * 24 * time.Hour
			b.Run(fmt.Sprintf("span %v/slice %v", span, slice), func(b *testing.B) {
				var detect, took, detectCPU, cpu time.Duration
				for range b.N {
					runtime.GOMAXPROCS(1)
					begin, beginCPU := time.Now(), processorTime(b)
					writeEvents(b, posts, s)
					detect, detectCPU = detect+time.Since(begin), detectCPU+processorTime(b)-beginCPU
					runtime.GOMAXPROCS(cores)
					cfg := config(b, files, func(c *backfill.Config) { c.Slice, c.Workers, c.Window.Span, c.SortBytes = slice, cores, span, 128<<20 })
					if days == 3650 {
						cfg.Columns = 4
					}
					begin, beginCPU = time.Now(), processorTime(b)
					mustRun(b, cfg)
					took, cpu = took+time.Since(begin), cpu+processorTime(b)-beginCPU
				}
				b.ReportMetric(n*float64(b.N)/took.Seconds(), "posts/s")
				b.ReportMetric(n*float64(b.N)/detect.Seconds(), "detect-posts/s")
				runIns := 1 + float64(span)/float64(slice)
				b.ReportMetric(detect.Seconds()/took.Seconds()*runIns/float64(cores), "share")
				b.ReportMetric(detectCPU.Seconds()/cpu.Seconds()*runIns, "cpu-share")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

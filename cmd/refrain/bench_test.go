package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"refrain/internal/dataset"
	"refrain/internal/e2e"
)

// BenchmarkDetect is `refrain detect` as a process of its own on the whole ira file: posts/s, and the most memory
// it had (RSS).
func BenchmarkDetect(b *testing.B) {
	path := dataset.File(b, "stream/ira_2012-02_2016-08.jsonl.zst")
	rate := regexp.MustCompile(`\((\d+) posts/s\)`)
	for _, span := range []string{"24h", "87600h"} {
		b.Run("span "+span, func(b *testing.B) {
			var sum, rss float64
			for b.Loop() {
				var stderr bytes.Buffer
				cmd := exec.Command(os.Args[0], "detect", "--span", span, path)
				cmd.Env = append(os.Environ(), runMain+"=1")
				cmd.Stdout, cmd.Stderr = io.Discard, &stderr
				if err := cmd.Run(); err != nil {
					b.Fatalf("%v: %s", err, stderr.String())
				}
				m := rate.FindStringSubmatch(stderr.String())
				if m == nil {
					b.Fatalf("no rate in: %s", stderr.String())
				}
				v, _ := strconv.ParseFloat(m[1], 64)
				sum += v
				rss = max(rss, float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024)
			}
			b.ReportMetric(sum/float64(b.N), "posts/s")
			b.ReportMetric(rss, "MiB-RSS")
		})
	}
}

// BenchmarkDetectAllocations is what `refrain detect` allocates for a post, on the first 200,000 of the ira file.
func BenchmarkDetectAllocations(b *testing.B) {
	const n = 200_000
	posts := e2e.Lines(b, "stream/ira_2012-02_2016-08.jsonl.zst", n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		m := Main{Stdin: bytes.NewReader(posts), Stdout: io.Discard, Stderr: io.Discard}
		if status := m.Run(context.Background(), []string{"detect", "--span", "87600h"}); status != 0 {
			b.Fatal(status)
		}
	}
	runtime.ReadMemStats(&after)
	done := float64(b.N) * n
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/done, "B/post")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/done, "allocs/post")
}

package shard

import (
	"bufio"
	"context"
	"os"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"refrain/detector"
	"refrain/feed"
	"refrain/internal/dataset"
	"refrain/split"
	"refrain/topic"
)

// readPosts reads up to n posts of a file of the data directory.
func readPosts(tb testing.TB, name string, n int) []feed.Post {
	tb.Helper()
	f, err := os.Open(dataset.File(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	plain, err := zstd.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	defer plain.Close()
	var posts []feed.Post
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() && len(posts) < n {
		p, _, err := feed.DecodePost(lines.Bytes(), nil)
		if err != nil {
			tb.Fatal(err)
		}
		posts = append(posts, p)
	}
	return posts
}

// BenchmarkRoute is the whole way from posts to events over in-process topics: 4 partitions, 2 workers, real rows.
func BenchmarkRoute(b *testing.B) {
	posts := readPosts(b, "stream/ira_2012-02_2016-08.jsonl.zst", 100_000)
	rows := detectorRows(b)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		sentences := newOrdered(4)
		events := topic.NewMemory(topic.DefaultMemory())
		window, writer := detector.Default(), split.Default()
		writer.Sentences, writer.Lateness = sentences, window.Lateness
		s, err := split.New(writer)
		if err != nil {
			b.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		var workers []*Worker
		ended := make(chan error, 2)
		b.StartTimer()
		for _, owned := range Owners(4, 2) {
			cfg := Default()
			cfg.Sentences, cfg.Events, cfg.Store, cfg.Owned = sentences, events, &topic.MemoryStore{}, owned
			cfg.Rows = func(int) (Rows, error) { return rows(window.Threshold, window.Span, window.Lateness) }
			cfg.Span, cfg.Lateness, cfg.Commit = window.Span, window.Lateness, time.Second
			w, err := Open(ctx, cfg)
			if err != nil {
				b.Fatal(err)
			}
			workers = append(workers, w)
			go func() { ended <- w.Run(ctx) }()
		}
		for i := 0; i < len(posts); i += 1000 {
			if err := s.Write(ctx, posts[i:min(i+1000, len(posts))], "file"); err != nil {
				b.Fatal(err)
			}
		}
		_, ends, err := sentences.Bounds(ctx)
		if err != nil {
			b.Fatal(err)
		}
		for _, w := range workers {
			if err := w.WaitFor(ctx, ends); err != nil {
				b.Fatal(err)
			}
		}
		stop()
		for range workers {
			if err := <-ended; err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N*len(posts))/b.Elapsed().Seconds(), "posts/s")
}

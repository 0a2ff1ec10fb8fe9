//go:build unix

package shard

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/split"
	"refrain/topic"
	"refrain/topic/jetstream"
)

var restorePosts = flag.Int("restore.posts", 100_000, "posts of the windows that are restored by the benchmarks")

// BenchmarkReplay brings the rows of 4 partitions back, all that the sentence topic holds having been looked up before the
// restart: by insertion alone, and from snapshots, of which each partition's last lacks up to 5,000 sentences.
func BenchmarkReplay(b *testing.B) {
	posts := readPosts(b, "stream/ira_2012-02_2016-08.jsonl.zst", *restorePosts)
	for _, topics := range []string{"ordered", "unordered", "embedded"} {
		sentences := sentenceTopic(b, topics)
		n := writeAll(b, sentences, posts)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d/replay", topics, workers), func(b *testing.B) {
				measured(b, n, func() { replay(b, sentences, workers, nil) })
			})
			b.Run(fmt.Sprintf("%s/workers=%d/snapshot", topics, workers), func(b *testing.B) {
				folder := must(OpenSnapshotFolder(b.TempDir()))
				replay(b, sentences, workers, snapshotsOf(b, folder, 5000))
				b.ResetTimer()
				measured(b, n, func() { replay(b, sentences, workers, snapshotsOf(b, folder, 1<<30)) })
			})
		}
	}
}

// measured reports time and processor time, a sentence.
func measured(b *testing.B, sentences int, f func()) {
	processor := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := processor()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*sentences), "µs/sentence")
	b.ReportMetric(float64((processor()-before).Microseconds())/float64(b.N*sentences), "cpu-µs/sentence")
	b.ReportMetric(float64(sentences), "sentences")
}

// snapshotsOf write after so many sentences.
func snapshotsOf(b *testing.B, folder SnapshotFiles, after int) *Snapshots {
	cfg := DefaultSnapshots()
	cfg.Files, cfg.Writer, cfg.MinSentences, cfg.Share, cfg.MinPause = folder, fmt.Sprint(time.Now().UnixNano()), after, 1<<30, 0
	cfg.InTurn, cfg.Logger = true, slog.New(slog.DiscardHandler)
	s := must(NewSnapshots(cfg))
	b.Cleanup(s.Close)
	return s
}

func sentenceTopic(b *testing.B, kind string) topic.Topic {
	switch kind {
	case "ordered":
		return newOrdered(4)
	case "unordered":
		cfg := topic.DefaultMemory()
		cfg.Partitions = 4
		return topic.NewMemory(cfg)
	}
	cfg := jetstream.Default()
	cfg.Dir, cfg.Logger = b.TempDir(), slog.New(slog.DiscardHandler)
	s := must(jetstream.Start(cfg))
	b.Cleanup(func() { s.Close() })
	t := jetstream.DefaultTopic()
	t.Name, t.Partitions, t.Logger = "sentences", 4, cfg.Logger
	return must(s.OpenTopic(b.Context(), t))
}

// writeAll writes posts into a sentence topic, and returns how many sentences they have.
func writeAll(b *testing.B, sentences topic.Topic, posts []feed.Post) (n int) {
	b.Helper()
	cfg := split.Default()
	cfg.Sentences = sentences
	s := must(split.New(cfg))
	for i := 0; i < len(posts); i += 1000 {
		if err := s.Write(b.Context(), posts[i:min(i+1000, len(posts))], "file"); err != nil {
			b.Fatal(err)
		}
	}
	from := make([]int64, sentences.Partitions())
	_, ends, err := sentences.Bounds(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	r := must(sentences.Open(b.Context(), from))
	defer r.Close()
	for !reached(from, ends) {
		for _, record := range must(r.Fetch(b.Context())) {
			n += len(must(topic.DecodeBatch(record.Data)).Sentences)
			from[record.Partition] = record.Position + 1
			if sentences.Ordered() {
				for p := range from {
					from[p] = record.Position + 1
				}
			}
		}
	}
	return n
}

func reached(at, ends []int64) bool {
	for p := range ends {
		if at[p] < ends[p] {
			return false
		}
	}
	return true
}

// replay opens a crew whose look-ups are all done, and waits until it has its rows.
func replay(b *testing.B, sentences topic.Topic, workers int, snapshots *Snapshots) {
	window := detector.Default()
	cfg := DefaultCrew()
	cfg.Workers, cfg.OwnerEvery, cfg.Fixed = workers, 0, []int{0, 1, 2, 3}
	cfg.Worker.Sentences, cfg.Worker.Store = sentences, &topic.MemoryStore{}
	cfg.Worker.Events, cfg.Worker.Control = topic.NewMemory(topic.DefaultMemory()), topic.NewMemory(topic.DefaultMemory())
	cfg.Worker.Span, cfg.Worker.Lateness, cfg.Worker.Commit = window.Span, window.Lateness, time.Second
	if cfg.Worker.Snapshots = snapshots; snapshots != nil {
		cfg.Worker.Commit = 0
	}
	cfg.Worker.Logger = slog.New(slog.DiscardHandler)
	cfg.Rows = func(int) (Rows, error) { return detector.NewPartition(window) }
	for q := range 4 {
		if err := PutCopied(b.Context(), cfg.Worker.Store, q,
			CopiedTopics{sentences, cfg.Worker.Events, cfg.Worker.Control}, 0); err != nil {
			b.Fatal(err)
		}
	}
	c := must(OpenCrew(b.Context(), cfg))
	_, ends, err := sentences.Bounds(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for c.inserted(ends) < 4 {
		time.Sleep(2 * time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// inserted is how many partitions have all their rows.
func (c *Crew) inserted(ends []int64) (n int) {
	for _, w := range c.Workers() {
		w.turning.Lock()
		for _, q := range w.owned {
			if q.insert >= ends[q.id] {
				n++
			}
		}
		w.turning.Unlock()
	}
	return n
}

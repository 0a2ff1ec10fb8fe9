// Command edges measures the whole route at its edges, one after the other in one run: detect, serve over HTTP, serve
// over Kafka, events into Redis, and the API under load.
//
//	eval "$(deploy/dev/up /tmp/refrain)"
//	go run ./lab/bench/edges posts.jsonl
//
// It writes a Markdown table. The file is read whole, several times, and must not be compressed.
package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"refrain/lab/product"
)

func main() {
	b := bench{kafka: os.Getenv("REFRAIN_TEST_KAFKA"), redis: os.Getenv("REFRAIN_TEST_REDIS")}
	flag.StringVar(&b.binary, "refrain", "", product.Flag)
	flag.IntVar(&b.posts, "posts", 200_000, "posts of the rates")
	flag.IntVar(&b.sentences, "sentences", 500_000, "sentences in the window of the latencies")
	flag.IntVar(&b.rate, "rate", 500, "requests a second of the latencies")
	flag.DurationVar(&b.lasting, "lasting", 30*time.Second, "how long requests are made")
	only := flag.String("only", "detect,http,kafka,load", "the parts of the route to measure")
	flag.Parse()
	b.only = strings.Split(*only, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "edges:", err)
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	binary       string
	kafka, redis string // addresses
	posts        int
	sentences    int
	rate         int
	lasting      time.Duration
	only         []string

	scratch string
	input   string
	file    string // the first posts of the input
	lines   [][]byte
}

func (b *bench) run(ctx context.Context, input string) (err error) {
	if b.kafka == "" || b.redis == "" {
		return fmt.Errorf(`REFRAIN_TEST_KAFKA and REFRAIN_TEST_REDIS are not set: eval "$(deploy/dev/up DIR)"`)
	}
	refrain, err := product.Find(ctx, b.binary)
	if err != nil {
		return err
	}
	defer refrain.Remove()
	b.binary = refrain.Path
	if b.scratch, err = os.MkdirTemp("", "refrain-edges"); err != nil {
		return err
	}
	defer os.RemoveAll(b.scratch)
	b.input = input
	if err := b.readPosts(); err != nil {
		return err
	}
	fmt.Printf("%d posts of %s\n\n| | figure |\n|---|---|\n", len(b.lines), filepath.Base(input))
	parts := map[string]func(context.Context) error{"detect": b.detect, "http": b.http, "kafka": b.overKafka, "load": b.load}
	for _, name := range b.only {
		part, ok := parts[name]
		if !ok {
			return fmt.Errorf("--only %s: want detect, http, kafka or load", name)
		}
		if err := part(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// readPosts reads the first posts of the input into memory, and in a file for detect.
func (b *bench) readPosts() error {
	in, err := os.Open(b.input)
	if err != nil {
		return err
	}
	defer in.Close()
	if b.lines, err = readLines(bufio.NewReaderSize(in, 1<<20), b.posts); err != nil {
		return err
	}
	b.file = filepath.Join(b.scratch, "posts.jsonl")
	return os.WriteFile(b.file, bytes.Join(b.lines, nil), 0o600)
}

// readLines reads so many lines, or what is left.
func readLines(r *bufio.Reader, n int) (lines [][]byte, err error) {
	for len(lines) < n {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			lines = append(lines, line)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return lines, nil
}

func row(what string, format string, args ...any) {
	fmt.Printf("| %s | %s |\n", what, fmt.Sprintf(format, args...))
}

func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// detect is the yardstick.
func (b *bench) detect(ctx context.Context) error {
	begin := time.Now()
	cmd := exec.CommandContext(ctx, b.binary, "detect", b.file)
	cmd.Stderr = nil
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("detect: %w", err)
	}
	row("detect, start and end of the process included", "%.0f posts/s", perSecond(len(b.lines), time.Since(begin)))
	return nil
}

// http posts everything over one connection, in requests of 1,000 posts.
func (b *bench) http(ctx context.Context) error {
	if err := b.overHTTP(ctx, "http", "all defaults", "{}\n"); err != nil {
		return err
	}
	return b.overHTTP(ctx, "unindexed", "without the index", "lookup: {store: none}\n")
}

func (b *bench) overHTTP(ctx context.Context, name, what, config string) error {
	s, err := b.start(ctx, name, config)
	if err != nil {
		return err
	}
	defer s.end()
	begin := time.Now()
	if err := s.post(ctx, b.lines, 1000); err != nil {
		return err
	}
	row("serve over HTTP, "+what+", accepted", "%.0f posts/s", perSecond(len(b.lines), time.Since(begin)))
	if _, err := s.events(ctx); err != nil {
		return err
	}
	row("serve over HTTP, "+what+", until all events are out", "%.0f posts/s", perSecond(len(b.lines), time.Since(begin)))
	return nil
}

// overKafka reads what is in a topic of four partitions and writes the events to another; then the events go into an
// empty Redis.
func (b *bench) overKafka(ctx context.Context) error {
	in, out, err := b.topics(ctx)
	if err != nil {
		return err
	}
	config := fmt.Sprintf("ingest: {kafka: [{brokers: [%q], topics: [%s], group: %[2]s}]}\n"+
		"publish: {kafka: [{name: reuse, brokers: [%[1]q], topic: %[3]s}]}\n", b.kafka, in, out)
	s, err := b.start(ctx, "kafka", config+"lookup: {store: none}\n")
	if err != nil {
		return err
	}
	begin, err := s.awaitMetric(ctx, "refrain_ingest_posts_total", func(v float64) bool { return v > 0 })
	if err != nil {
		return err
	}
	end, err := s.awaitMetric(ctx, "refrain_ingest_posts_total", func(v float64) bool { return int(v) >= len(b.lines) })
	if err != nil {
		return err
	}
	row("serve over Kafka, taken in (from the first batch on)", "%.0f posts/s", perSecond(len(b.lines), end.Sub(begin)))
	events, err := s.events(ctx)
	if err != nil {
		return err
	}
	if end, err = s.awaitMetric(ctx, "refrain_publish_lag", func(v float64) bool { return v == 0 }); err != nil {
		return err
	}
	row("serve over Kafka, until all events are in the output topic", "%.0f posts/s", perSecond(len(b.lines), end.Sub(begin)))
	if err := s.stop(); err != nil {
		return err
	}
	return b.intoRedis(ctx, events)
}

// intoRedis starts the same service with an index that has nothing yet: it is made from the event topic.
func (b *bench) intoRedis(ctx context.Context, events int) error {
	before, err := b.redisMemory(ctx)
	if err != nil {
		return err
	}
	s, err := b.start(ctx, "kafka", fmt.Sprintf("lookup: {store: redis, redis: {url: \"redis://%s/0\", prefix: %q}}\n",
		b.redis, b.scratch))
	if err != nil {
		return err
	}
	defer s.end()
	begin := s.started
	end, err := s.awaitMetric(ctx, "refrain_publish_lag", func(v float64) bool { return v == 0 })
	if err != nil {
		return err
	}
	after, err := b.redisMemory(ctx)
	if err != nil {
		return err
	}
	row("events into Redis (from the start of the process on)", "%.0f events/s", perSecond(events, end.Sub(begin)))
	row("Redis, an event", "%.0f bytes", float64(after-before)/float64(events))
	return nil
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

// service is a running `refrain serve`.
type service struct {
	cmd     *exec.Cmd
	address string
	log     bytes.Buffer
	started time.Time
}

// start runs serve with a configuration on the data directory of that name, and returns when it is ready.
func (b *bench) start(ctx context.Context, name, config string) (*service, error) {
	path := filepath.Join(b.scratch, name+".yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s := &service{address: address, started: time.Now()}
	s.cmd = exec.CommandContext(ctx, b.binary, "serve", "--config", path, "--data", filepath.Join(b.scratch, name),
		"--http", address)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for {
		resp, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return s, nil
			}
		}
		if err := pause(ctx, s); err != nil {
			return nil, errors.Join(err, s.stop())
		}
	}
}

// pause is between two looks at the service.
func pause(ctx context.Context, s *service) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Millisecond):
	}
	if time.Since(s.started) > 20*time.Minute {
		return fmt.Errorf("the service is stuck:\n%s", s.log.String())
	}
	return nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

func (s *service) url(path string) string { return "http://" + s.address + path }

// stop ends the service and waits for it.
func (s *service) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("serve: %w:\n%s", err, s.log.String())
	}
	return nil
}

// end stops a service whose last words nobody waits for.
func (s *service) end() { _ = s.stop() }

// post sends posts in requests of so many, one after the other.
func (s *service) post(ctx context.Context, lines [][]byte, each int) error {
	for some := range slices.Chunk(lines, each) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url("/v1/posts"), bytes.NewReader(bytes.Join(some, nil)))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/x-ndjson")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			return fmt.Errorf("POST /v1/posts: %s: %s: %w", resp.Status, body, err)
		}
	}
	return nil
}

// events waits until everything accepted is through, and counts the events.
func (s *service) events(ctx context.Context) (n int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url("/v1/events?from=start&until=now&format=ndjson"), nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		n++
	}
	return n, in.Err()
}

// awaitMetric polls a metric, summed over its labels, until ok.
func (s *service) awaitMetric(ctx context.Context, metric string, ok func(float64) bool) (time.Time, error) {
	for {
		v, known, err := s.metric(metric)
		if err != nil {
			return time.Time{}, err
		}
		if known && ok(v) {
			return time.Now(), nil
		}
		if err := pause(ctx, s); err != nil {
			return time.Time{}, fmt.Errorf("%s: %w", metric, err)
		}
	}
}

func (s *service) metric(name string) (sum float64, known bool, err error) {
	resp, err := http.Get(s.url("/metrics"))
	if err != nil {
		return 0, false, err
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	for in.Scan() {
		rest, ok := strings.CutPrefix(in.Text(), name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		v, err := strconv.ParseFloat(rest[strings.LastIndex(rest, " ")+1:], 64)
		if err != nil {
			return 0, false, err
		}
		sum, known = sum+v, true
	}
	return sum, known, in.Err()
}

// topics makes one topic with the posts, in four partitions, and one for the events.
func (b *bench) topics(ctx context.Context) (in, out string, err error) {
	in, out = "edges-posts-"+filepath.Base(b.scratch), "edges-reuse-"+filepath.Base(b.scratch)
	client := &kafka.Client{Addr: kafka.TCP(b.kafka)}
	made, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{
		{Topic: in, NumPartitions: 4, ReplicationFactor: 1}, {Topic: out, NumPartitions: 4, ReplicationFactor: 1},
	}})
	if err != nil {
		return "", "", err
	}
	if err := errors.Join(made.Errors[in], made.Errors[out]); err != nil {
		return "", "", err
	}
	w := &kafka.Writer{Addr: kafka.TCP(b.kafka), Topic: in, RequiredAcks: kafka.RequireAll, BatchTimeout: 5 * time.Millisecond,
		BatchSize: 1000, MaxAttempts: 30, Balancer: &kafka.RoundRobin{ChunkSize: 1000}}
	defer func() { _ = w.Close() }()
	for some := range slices.Chunk(b.lines, 4000) {
		messages := make([]kafka.Message, len(some))
		for i := range some {
			messages[i].Value = bytes.TrimSuffix(some[i], []byte("\n"))
		}
		if err := w.WriteMessages(ctx, messages...); err != nil {
			return "", "", err
		}
	}
	return in, out, nil
}

// redisMemory is what Redis says its data takes.
func (b *bench) redisMemory(ctx context.Context) (int64, error) {
	client := redis.NewClient(&redis.Options{Addr: b.redis})
	defer func() { _ = client.Close() }()
	info, err := client.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(info, "used_memory_dataset:")
	value, _, _ := strings.Cut(rest, "\r")
	return strconv.ParseInt(value, 10, 64)
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"refrain/internal/config"
	"refrain/server"
)

// TestTopicsCopy moves a service into another directory with other partitions: the copy of a post is found there, and what
// was reported is not reported again.
func TestTopicsCopy(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	from := file("old.yaml", fmt.Sprintf("data_dir: %s/old\nhttp: 127.0.0.1:0\ntopics: {partitions: 2}\n", dir))
	to := file("new.yaml", fmt.Sprintf("data_dir: %s/new\nhttp: 127.0.0.1:0\ntopics: {partitions: 5}\n", dir))
	const text = "the quick brown fox jumps over the lazy dog"
	if got := served(t, from, "a", text, "b", text); strings.Count(got, `"subject"`) != 1 {
		t.Fatalf("events: %s", got)
	}
	copyTopics := func(want int, says string, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		m := Main{Stdout: &stdout, Stderr: &stderr}
		if got := m.Run(context.Background(), append([]string{"topics", "copy"}, args...)); got != want || !strings.Contains(stderr.String(), says) {
			t.Errorf("%q: exit status %d, want %d; stderr %q, want %q", args, got, want, &stderr, says)
		}
	}
	copyTopics(exitUsage, "want --from and --to", "--from", from)
	copyTopics(exitUsage, "no such file", "--from", from, "--to", filepath.Join(dir, "none.yaml"))
	copyTopics(exitFailure, "in use by process", "--from", from, "--to", from)
	copyTopics(0, "1 events, 0 deletions", "--from", from, "--to", to)
	copyTopics(exitFailure, "are not empty", "--from", from, "--to", to)
	if got := served(t, to, "c", text); strings.Count(got, `"subject"`) != 2 || !strings.Contains(got, `"subject":"c"`) {
		t.Errorf("events after the move: %s", got)
	}
}

// served runs a service, posts to it, and returns all events.
func served(t *testing.T, file string, posts ...string) string {
	t.Helper()
	cfg, err := config.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	s, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.Ready(wait); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(posts); i += 2 {
		body := fmt.Sprintf(`{"id":%q,"text":%q}`, posts[i], posts[i+1])
		resp, err := http.Post("http://"+s.Addr()+"/v1/posts", "application/json", strings.NewReader(body))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
	}
	resp, err := http.Get("http://" + s.Addr() + "/v1/events?from=start&until=now")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var all bytes.Buffer
	if _, err := all.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"refrain/feed"
	"refrain/topic"
	"refrain/topic/jetstream"
)

func TestCheckExitStatus(t *testing.T) {
	dir := t.TempDir()
	cfg, control := jetstream.Default(), jetstream.DefaultTopic()
	cfg.Dir, cfg.Logger, control.Name = dir, slog.New(slog.DiscardHandler), "control"
	s, err := jetstream.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.OpenTopic(t.Context(), control)
	if err == nil {
		err = x.Append(t.Context(), []topic.Record{{Data: topic.AppendTombstones(nil, []feed.Tombstone{{Post: "p1"}})}})
	}
	if err != nil {
		t.Fatal(err)
	}
	check := func(want int, out, on string, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		m := Main{Stdout: &stdout, Stderr: &stderr}
		if got := m.Run(context.Background(), append([]string{"check"}, args...)); got != want ||
			!strings.Contains(stdout.String(), out) || !strings.Contains(stderr.String(), on) {
			t.Errorf("%q: exit status %d, want %d; stdout %q, stderr %q", args, got, want, &stdout, &stderr)
		}
	}
	check(exitFailure, "", "in use by process", dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(0, "", "control, 1 messages: sound", dir)
	check(0, "", "FORMAT, 1: sound", dir) // of before there was the file
	format := filepath.Join(dir, "FORMAT")
	for text, want := range map[string][2]string{
		"1\n": {"", "FORMAT, 1: sound"}, "2\n": {"", "a newer program has written there"}, "x": {format + ": 0: no number", ""},
	} {
		if err := os.WriteFile(format, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		check(map[bool]int{true: 0, false: exitFailure}[text == "1\n"], want[0], want[1], dir)
	}
	if err := os.Remove(format); err != nil {
		t.Fatal(err)
	}
	check(exitUsage, "", "want one")
	check(exitUsage, "", "not a data directory", t.TempDir())
	closed := t.TempDir() // one that cannot be looked into may be a data directory all the same
	if err := os.Symlink("jetstream", filepath.Join(closed, "jetstream")); err != nil {
		t.Fatal(err)
	}
	check(exitFailure, "", "data directory "+closed+": stat ", closed)
	path := filepath.Join(dir, "jetstream", "$G", "streams", "control", "msgs", "1.blk")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	check(exitFailure, path+": 0: checksum mismatch\n", "damaged: ", dir)
}

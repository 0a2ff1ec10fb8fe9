package jetstream_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/jetstream"
	"refrain/topic/jetstream/blocks"
)

// childEnv names the data directory for this test binary run as the process that is to be killed.
const childEnv = "REFRAIN_TOPIC_TEST_DIR"

// child appends records for ever and prints the number of each batch once it is acknowledged.
func child(dir string) {
	if err := appendForEver(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func appendForEver(dir string) error {
	ctx := context.Background()
	cfg := jetstream.Default()
	cfg.Dir, cfg.Logger = dir, slog.New(slog.DiscardHandler)
	s, err := jetstream.Start(cfg)
	if err != nil {
		return err
	}
	x, err := s.OpenTopic(ctx, topicConfig(func(c *jetstream.TopicConfig) { c.MaxBytes = maxBytes() }))
	if err != nil {
		return err
	}
	kv, err := s.OpenStore(ctx, "positions")
	if err != nil {
		return err
	}
	_, end, err := x.Bounds(ctx)
	if err != nil {
		return err
	}
	for n := max(end[0], end[1], end[2]); ; n++ {
		if err := errors.Join(x.Append(ctx, batchNumber(n)), kv.Put(ctx, fmt.Sprint("k", n%3), make([]byte, 20_000))); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// maxBytesEnv is the limit of the child's topic.
const maxBytesEnv = "REFRAIN_TOPIC_TEST_MAX_BYTES"

func maxBytes() int64 {
	n, _ := strconv.ParseInt(os.Getenv(maxBytesEnv), 10, 64) // 0: none
	return n
}

const batchSize = 20

func batchNumber(n int64) []topic.Record {
	var out []topic.Record
	for i := range batchSize {
		data := make([]byte, 3000)
		copy(data, fmt.Sprintf("%d/%d ", n, i))
		out = append(out, topic.Record{Partition: i % 3, Data: data})
	}
	return out
}

// TestKill kills a process that appends, three times on one directory: every record that it acknowledged is there.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[int64]bool{}
	for _, batches := range []int{1, 40, 150} {
		for _, n := range killAfter(t, dir, batches) {
			acknowledged[n] = true
		}
	}
	x := MustOpenTopic(t, MustStart(t, func(c *jetstream.Config) { c.Dir = dir }))
	checkAcknowledged(t, x, acknowledged)
}

// killAfter returns the numbers that the child printed, more than batches of them.
func killAfter(t *testing.T, dir string, batches int, env ...string) []int64 {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+dir), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var got []int64
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var n int64
		if _, err := fmt.Sscan(lines.Text(), &n); err != nil {
			t.Errorf("child printed %q", lines.Text())
		}
		if got = append(got, n); len(got) == batches {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("child ended by itself: %v", err)
	}
	return got
}

func checkAcknowledged(t *testing.T, x topic.Topic, acknowledged map[int64]bool) {
	t.Helper()
	_, end := conformance.MustBounds(t, x)
	r := conformance.MustOpen(t, x, 0, 0, 0)
	found := map[int64]int{}
	for last := int64(0); last < max(end[0], end[1], end[2])-1; {
		records, err := r.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range records {
			var n, i int64
			if _, err := fmt.Sscanf(string(x.Data), "%d/%d", &n, &i); err != nil || len(x.Data) != 3000 {
				t.Fatalf("position %d: %d bytes, %v", x.Position, len(x.Data), err)
			}
			found[n]++
			last = x.Position
		}
	}
	for n := range acknowledged {
		if found[n] != batchSize {
			t.Errorf("batch %d: %d of %d acknowledged records are there", n, found[n], batchSize)
		}
	}
	t.Logf("%d batches acknowledged, %d found", len(acknowledged), len(found))
}

// TestAKillIsNoDamage: whatever a process that is killed leaves, in a topic that drops its oldest records all the while and
// a store that replaces its values, nothing in it is taken for damaged or lost.
func TestAKillIsNoDamage(t *testing.T) {
	dir := t.TempDir()
	for i := range 8 {
		killAfter(t, dir, 20+50*i, maxBytesEnv+"=10000000")
		for _, name := range []string{"sentences", "KV_positions"} {
			s, err := blocks.Scan(dir, name, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Damage) > 0 || name == "sentences" && len(s.Missing) > 0 {
				t.Errorf("%s after kill %d: %+v", name, i, s)
			}
			t.Logf("%s: %d messages from %d on, torn: %v", name, s.Messages, s.First, s.Torn)
		}
	}
	s := MustStart(t, func(c *jetstream.Config) { c.Dir = dir })
	if lost := MustOpenTopic(t, s).Lost(); lost > 0 {
		t.Errorf("%d lost", lost)
	}
}

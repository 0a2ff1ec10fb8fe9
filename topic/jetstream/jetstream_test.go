package jetstream_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/jetstream"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		child(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// config is the default configuration of a server of its own, changed.
func config(tb testing.TB, changes ...func(*jetstream.Config)) jetstream.Config {
	cfg := jetstream.Default()
	cfg.Dir, cfg.Logger = tb.TempDir(), slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	for _, change := range changes {
		change(&cfg)
	}
	return cfg
}

func MustStart(tb testing.TB, changes ...func(*jetstream.Config)) *jetstream.Server {
	tb.Helper()
	s, err := jetstream.Start(config(tb, changes...))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { MustClose(tb, s) })
	return s
}

func MustClose(tb testing.TB, s *jetstream.Server) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Errorf("close: %v", err)
	}
}

// topicConfig is the default configuration of a topic of three partitions, changed.
func topicConfig(changes ...func(*jetstream.TopicConfig)) jetstream.TopicConfig {
	cfg := jetstream.DefaultTopic()
	cfg.Name, cfg.Partitions = "sentences", 3
	for _, change := range changes {
		change(&cfg)
	}
	return cfg
}

func MustOpenTopic(tb testing.TB, s *jetstream.Server, changes ...func(*jetstream.TopicConfig)) *jetstream.Topic {
	tb.Helper()
	x, err := s.OpenTopic(tb.Context(), topicConfig(changes...))
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

func TestTopic(t *testing.T) {
	for _, layout := range []struct {
		packed bool
		coding jetstream.Coding
	}{{false, jetstream.Plain}, {true, jetstream.Plain}, {false, jetstream.S2}, {true, jetstream.Zstd}} {
		t.Run(fmt.Sprintf("packed=%v,coding=%s", layout.packed, layout.coding), func(t *testing.T) {
			conformance.RunTopic(t, func(t *testing.T) topic.Topic {
				return MustOpenTopic(t, MustStart(t), func(c *jetstream.TopicConfig) {
					c.Packed, c.Coding = layout.packed, layout.coding
				})
			})
		})
	}
}

func TestStore(t *testing.T) {
	conformance.RunStore(t, func(t *testing.T) topic.Store {
		s, err := MustStart(t).OpenStore(t.Context(), "positions")
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// TestReopen closes the server and opens the directory again, with other limits.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	s := MustStart(t, func(c *jetstream.Config) { c.Dir = dir })
	x := MustOpenTopic(t, s)
	records := []topic.Record{{Partition: 2, Data: []byte("a")}, {Partition: 0, Data: []byte("b")}}
	conformance.MustAppend(t, x, records...)
	want := conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), 2)
	store, err := s.OpenStore(t.Context(), "positions")
	if err != nil {
		t.Fatal(err)
	}
	conformance.MustPut(t, store, "k", []byte("v"))
	open := conformance.MustOpen(t, x, 0, 0, 0)
	conformance.MustFetch(t, open, 2)
	MustClose(t, s)
	if _, err := open.Fetch(t.Context()); err == nil || errors.Is(err, topic.ErrClosed) {
		t.Errorf("a reader whose server has gone: got %v, want the connection's error", err)
	}
	if _, err := open.Fetch(t.Context()); !errors.Is(err, topic.ErrClosed) {
		t.Errorf("and after that: got %v, want ErrClosed", err)
	}

	s = MustStart(t, func(c *jetstream.Config) { c.Dir, c.Sync = dir, true })
	x = MustOpenTopic(t, s, func(c *jetstream.TopicConfig) { c.MaxAge, c.MaxBytes = time.Hour, 1<<30 })
	if diff := cmp.Diff(want, conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), 2)); diff != "" {
		t.Error(diff)
	}
	conformance.MustAppend(t, x, records...)
	if got := conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), 4); got[2].Position <= want[1].Position {
		t.Errorf("position %d after the restart, %d before", got[2].Position, want[1].Position)
	}
	store, err = s.OpenStore(t.Context(), "positions")
	if err != nil {
		t.Fatal(err)
	}
	conformance.MustGet(t, store, "k", []byte("v"))
}

func TestFixedSettings(t *testing.T) {
	s := MustStart(t)
	with := func(partitions int, minTokens string) func(*jetstream.TopicConfig) {
		return func(c *jetstream.TopicConfig) {
			c.Name, c.Partitions, c.Fixed = "x", partitions, map[string]string{"min_tokens": minTokens}
		}
	}
	MustOpenTopic(t, s, with(2, "4"))
	MustOpenTopic(t, s, with(2, "4"))
	tests := []struct {
		want   string
		change func(*jetstream.TopicConfig)
	}{
		{"made with partitions 2 and cannot go on with 3: go back to 2, or start with other topics: an empty data directory, " +
			"or on a broker another topics.name", with(3, "4")},
		{"made with min_tokens 4 and cannot go on with 5", with(2, "5")},
	}
	for _, test := range tests {
		_, err := s.OpenTopic(t.Context(), topicConfig(test.change))
		var fixed *topic.FixedError
		if !errors.As(err, &fixed) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

func TestInvalidConfig(t *testing.T) {
	s := MustStart(t)
	_, err := s.OpenTopic(t.Context(), jetstream.TopicConfig{Name: "a.b", MaxAge: -1, MaxBytes: -1, Discard: 7})
	for _, want := range []string{"a name is letters", "partitions: 0", "max age", "max bytes", "unknown discard policy",
		"now", "logger"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s too", err, want)
		}
	}
	if _, err := s.OpenStore(t.Context(), "a.b"); err == nil {
		t.Error("store a.b: no error")
	}
	if _, err := jetstream.Start(jetstream.Default()); err == nil {
		t.Error("no directory: no error")
	}
}

func TestDirectoryInUse(t *testing.T) {
	dir := t.TempDir()
	s := MustStart(t, func(c *jetstream.Config) { c.Dir = dir })
	_, err := jetstream.Start(config(t, func(c *jetstream.Config) { c.Dir = dir }))
	var inUse *jetstream.InUseError
	if !errors.As(err, &inUse) || inUse.Dir != dir || inUse.PID != os.Getpid() {
		t.Errorf("got %v, want the directory in use by %d", err, os.Getpid())
	}
	if want := fmt.Sprintf("data directory %s is in use by process %d", dir, os.Getpid()); err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	MustClose(t, s)
	MustStart(t, func(c *jetstream.Config) { c.Dir = dir })
}

func TestFullOfLimit(t *testing.T) {
	x := MustOpenTopic(t, MustStart(t), func(c *jetstream.TopicConfig) {
		c.MaxBytes, c.Discard = 100_000, jetstream.DiscardNew
	})
	r := conformance.MustOpen(t, x, 0, 0, 0)
	record := topic.Record{Data: make([]byte, 10_000)}
	var err error
	stored := 0
	for ; err == nil && stored < 100; stored++ {
		err = x.Append(t.Context(), []topic.Record{record})
	}
	if !errors.Is(err, topic.ErrFull) || !strings.Contains(err.Error(), "limit of 100000 bytes") {
		t.Fatalf("after %d records: got %v, want ErrFull", stored, err)
	}
	conformance.MustFetch(t, r, stored-1)
}

func TestFullDisk(t *testing.T) {
	x := MustOpenTopic(t, MustStart(t, func(c *jetstream.Config) { c.MinFree = 1 << 60 }))
	err := x.Append(t.Context(), []topic.Record{{}})
	if !errors.Is(err, topic.ErrFull) || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v, want ErrFull and the words", err)
	}
}

func TestTooLarge(t *testing.T) {
	x := MustOpenTopic(t, MustStart(t, func(c *jetstream.Config) { c.MaxPayload = 5000 }))
	conformance.MustAppend(t, x, topic.Record{Data: make([]byte, 4000)})
	err := x.Append(t.Context(), []topic.Record{{Data: make([]byte, 5000)}})
	if !errors.Is(err, topic.ErrTooLarge) || !strings.Contains(err.Error(), "5000 bytes of data") {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	conformance.MustAppend(t, x, topic.Record{Data: make([]byte, 4000)})
}

// TestTruncated lets retention drop what a reader was still to be given: before it is opened, and under way.
func TestTruncated(t *testing.T) {
	x := MustOpenTopic(t, MustStart(t), func(c *jetstream.TopicConfig) { c.MaxBytes = 2 << 20 })
	slow := conformance.MustOpen(t, x, 0, 0, 0)
	data := make([]byte, 1<<16)
	for range 500 { // a thousand records: some three times what a reader holds ahead
		conformance.MustAppend(t, x, topic.Record{Partition: 1, Data: data}, topic.Record{Partition: 2, Data: data})
	}
	start, end := conformance.MustBounds(t, x)
	if end[1]-start[1] > 50 || start[1] < 900 {
		t.Fatalf("bounds %v to %v: nothing was dropped", start, end)
	}
	for p := range 3 { // one report for each partition
		r := conformance.MustOpen(t, x, only(p, 5)...)
		_, err := r.Fetch(t.Context())
		var truncated *topic.ErrTruncated
		if !errors.As(err, &truncated) || truncated.Partition != p || truncated.From != 5 || truncated.Start < 900 {
			t.Errorf("partition %d: got %v, want an ErrTruncated", p, err)
		}
	}
	var last int64
	gaps := 0
	for last < max(end[1], end[2])-1 {
		records, err := slow.Fetch(t.Context())
		var truncated *topic.ErrTruncated
		switch {
		case errors.As(err, &truncated) && truncated.From == last+1:
			gaps++
			if gaps%3 == 0 {
				last = truncated.Start - 1
			}
		case err != nil:
			t.Fatalf("after position %d: %v", last, err)
		}
		for _, r := range records {
			if r.Position != last+1 {
				t.Fatalf("position %d after %d, and no word of a gap", r.Position, last)
			}
			last = r.Position
		}
	}
	if gaps == 0 {
		t.Error("the slow reader was told of no gap")
	}
}

func only(partition int, from int64) []int64 {
	x := []int64{-1, -1, -1}
	x[partition] = from
	return x
}

// TestEmptiedByAge: all records have gone, and a reader from the bounds gets what comes next.
func TestEmptiedByAge(t *testing.T) {
	x := MustOpenTopic(t, MustStart(t), func(c *jetstream.TopicConfig) { c.MaxAge = 200 * time.Millisecond })
	conformance.MustAppend(t, x, topic.Record{Data: []byte("old")})
	deadline := time.Now().Add(20 * time.Second)
	for {
		start, end := conformance.MustBounds(t, x)
		if start[0] == end[0] {
			r := conformance.MustOpen(t, x, start...)
			conformance.MustAppend(t, x, topic.Record{Data: []byte("new")})
			if got := conformance.MustFetch(t, r, 1); string(got[0].Data) != "new" {
				t.Errorf("got %q", got[0].Data)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the record is still there")
		}
	}
}

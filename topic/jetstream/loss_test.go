package jetstream_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"refrain/topic"
	"refrain/topic/jetstream"
	"refrain/topic/jetstream/blocks"
)

// in is the setting of a data directory.
func in(dir string) func(*jetstream.Config) { return func(c *jetstream.Config) { c.Dir = dir } }

// mustFlip flips a bit of the first block of a stream.
func mustFlip(tb testing.TB, dir, stream string, at int) {
	tb.Helper()
	path := filepath.Join(blocks.Dir(dir), stream, "msgs", "1.blk")
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func mustAppend(tb testing.TB, x topic.Topic, batches ...int64) {
	tb.Helper()
	for _, n := range batches {
		if err := x.Append(tb.Context(), batchNumber(n)); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestADamagedRecordIsLostAlone: it is counted and said, the rest of its block stays, and limits go on dropping old
// records: left to itself the server would refuse the next one (by size), or drop none any more (by age).
func TestADamagedRecordIsLostAlone(t *testing.T) {
	for name, cfg := range map[string]func(*jetstream.TopicConfig){
		"age":  func(c *jetstream.TopicConfig) { c.MaxAge = 3 * time.Second },
		"size": func(c *jetstream.TopicConfig) { c.MaxBytes = 700_000 },
	} {
		t.Run(name, func(t *testing.T) {
			dir, log := t.TempDir(), new(bytes.Buffer)
			s := MustStart(t, in(dir))
			mustAppend(t, MustOpenTopic(t, s, cfg), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
			MustClose(t, s)
			mustFlip(t, dir, "sentences", 100_000)
			s = MustStart(t, in(dir), func(c *jetstream.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
			x := MustOpenTopic(t, s, cfg)
			if lost := x.Lost(); lost != 1 || !strings.Contains(log.String(), "checksum mismatch") {
				t.Errorf("%d lost; logged %s", lost, log)
			}
			mustAppend(t, x, 10, 11, 12)
			for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
				if state := mustState(t, s); state.FirstSeq > 40 {
					break
				}
				if time.Since(begin) > 20*time.Second {
					t.Fatal("old records stay")
				}
				mustAppend(t, x, 13)
			}
			if copies, _ := filepath.Glob(filepath.Join(dir, "damaged", "*.sentences.1.blk.*")); len(copies) != 1 {
				t.Errorf("%q", copies)
			}
		})
	}
}

func mustState(tb testing.TB, s *jetstream.Server) js.StreamState {
	tb.Helper()
	stream, err := s.JetStream().Stream(tb.Context(), "sentences")
	if err != nil {
		tb.Fatal(err)
	}
	return stream.CachedInfo().State
}

// TestADamagedValue: the value before it is back, or none; left to itself the server would hang at the next one.
func TestADamagedValue(t *testing.T) {
	dir := t.TempDir()
	s := MustStart(t, in(dir))
	kv := mustOpenStore(t, s)
	for i := range 5 {
		if err := kv.Put(t.Context(), "k", fmt.Appendf(nil, "value %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	MustClose(t, s)
	mustFlip(t, dir, "KV_positions", -12)
	kv = mustOpenStore(t, MustStart(t, in(dir)))
	got, err := kv.Get(t.Context(), "k")
	if err != nil || string(got) == "value 4" || kv.Lost() != 1 {
		t.Errorf("%q, %v; %d lost", got, err, kv.Lost())
	}
	t.Logf("%q", got)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := kv.Put(ctx, "k", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := kv.Get(ctx, "k"); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestDamagedValues flips bits in a store, stopped or killed. A value whose record was not hit is there; where the last one
// of a key was hit there is one before it, or none. All keys can be written.
func TestDamagedValues(t *testing.T) {
	const keys, puts = 7, 400
	stopped, killed := t.TempDir(), t.TempDir()
	s := MustStart(t, in(stopped))
	kv, value := mustOpenStore(t, s), func(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d ", i), 10) }
	for i := range puts {
		if err := kv.Put(t.Context(), fmt.Sprint("k", i%keys), value(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(killed, os.DirFS(stopped)); err != nil {
		t.Fatal(err)
	}
	MustClose(t, s)
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 12 {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS([]string{stopped, killed}[i%2])); err != nil {
			t.Fatal(err)
		}
		type place struct{ begin, size int }
		var records []place
		_, err := blocks.Scan(dir, "KV_positions", func(_ string, r blocks.Record) error {
			records = append(records, place{int(r.Offset), r.Size})
			return nil
		})
		if err != nil || len(records) != puts {
			t.Fatal(len(records), err)
		}
		hit := map[int]bool{}
		for range 5 {
			n := puts - 1 - r.IntN(2*keys) // most are the last of their key
			hit[n] = true
			mustFlip(t, dir, "KV_positions", records[n].begin+22+r.IntN(records[n].size-22))
		}
		s := MustStart(t, in(dir), func(c *jetstream.Config) { c.Logger = slog.New(slog.DiscardHandler) })
		kv := mustOpenStore(t, s)
		for n := puts - keys; n < puts; n++ {
			key := fmt.Sprint("k", n%keys)
			got, err := kv.Get(t.Context(), key)
			if err != nil || !hit[n] && !bytes.Equal(got, value(n)) || hit[n] && bytes.Equal(got, value(n)) {
				t.Errorf("%s: hit %v, got %.9q, want %.9q, %v", key, hit[n], got, value(n), err)
			}
			if err := kv.Put(t.Context(), key, []byte("new")); err != nil {
				t.Fatal(err)
			}
			if got, err := kv.Get(t.Context(), key); err != nil || string(got) != "new" {
				t.Errorf("%s: %q, %v", key, got, err)
			}
		}
		if kv.Lost() == 0 || kv.Lost() > int64(len(hit)) {
			t.Errorf("%d lost, %d hit", kv.Lost(), len(hit))
		}
		MustClose(t, s)
	}
}

func mustOpenStore(tb testing.TB, s *jetstream.Server) *jetstream.Store {
	tb.Helper()
	kv, err := s.OpenStore(tb.Context(), "positions")
	if err != nil {
		tb.Fatal(err)
	}
	return kv
}

// TestARecordThatCannotBeReadIsMissed: damage that comes while the server runs is met by whoever reads.
func TestARecordThatCannotBeReadIsMissed(t *testing.T) {
	dir := t.TempDir()
	s := MustStart(t, in(dir))
	mustAppend(t, MustOpenTopic(t, s), 0, 1, 2)
	MustClose(t, s)
	s = MustStart(t, in(dir)) // it has nothing in memory yet
	mustFlip(t, dir, "sentences", 50_000)
	x := MustOpenTopic(t, s)
	r, err := x.Open(t.Context(), []int64{0, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for n := 0; n < 3*batchSize-1; {
		records, err := r.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n += len(records)
	}
	if lost := x.Lost(); lost != 1 {
		t.Errorf("%d lost", lost)
	}
}

// TestADamagedNote: of a topic whose messages have all expired a note of the last one is left. Where it is damaged, in
// whatever bit, nothing is lost, and no sequence is given again.
func TestADamagedNote(t *testing.T) {
	from := t.TempDir()
	s := MustStart(t, in(from))
	short := func(c *jetstream.TopicConfig) { c.MaxAge = 200 * time.Millisecond }
	if err := mustOpenStore(t, s).Put(t.Context(), "k", nil); err != nil { // it shows that the layout is known
		t.Fatal(err)
	}
	mustAppend(t, MustOpenTopic(t, s, short), 0)
	for mustState(t, s).Msgs > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	MustClose(t, s)
	for _, from := range []string{from, killed} {
		notes, _ := filepath.Glob(filepath.Join(blocks.Dir(from), "sentences", "msgs", "*.blk"))
		for at := 12; at < 30; at += 4 { // behind its sequence, which is all that tells the last one
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(blocks.Dir(dir), "sentences", "msgs", filepath.Base(notes[len(notes)-1]))
			b, err := os.ReadFile(path)
			if err != nil || len(b) != 30 {
				t.Fatal(len(b), err)
			}
			b[at] ^= 4
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			s := MustStart(t, in(dir), func(c *jetstream.Config) { c.Logger = slog.New(slog.DiscardHandler) })
			x := MustOpenTopic(t, s)
			mustAppend(t, x, 1)
			if state := mustState(t, s); state.FirstSeq != batchSize+1 || state.LastSeq != 2*batchSize || x.Lost() != 0 {
				t.Errorf("byte %d: messages %d to %d, %d lost", at, state.FirstSeq, state.LastSeq, x.Lost())
			}
			MustClose(t, s)
		}
	}
}

// TestNoRoomToRepair: nothing is written, and the server does not start: it would lose more.
func TestNoRoomToRepair(t *testing.T) {
	dir := t.TempDir()
	s := MustStart(t, in(dir))
	mustAppend(t, MustOpenTopic(t, s), 0, 1, 2)
	MustClose(t, s)
	mustFlip(t, dir, "sentences", 50_000)
	path := filepath.Join(blocks.Dir(dir), "sentences", "msgs", "1.blk")
	before, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "damaged"), nil, 0o600) // a file, where the folder of the copies would be
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jetstream.Start(config(t, in(dir))); err == nil || !strings.Contains(err.Error(), "damaged: not a directory") {
		t.Errorf("got %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the block is not as it was: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "damaged")); err != nil {
		t.Fatal(err)
	}
	if lost := MustOpenTopic(t, MustStart(t, in(dir))).Lost(); lost != 1 {
		t.Errorf("%d lost", lost)
	}
}

// TestStreamsOfAnotherVersion: where not one record can be read nothing is taken for damaged, and that is said.
func TestStreamsOfAnotherVersion(t *testing.T) {
	dir, log := t.TempDir(), new(bytes.Buffer)
	s := MustStart(t, in(dir))
	mustAppend(t, MustOpenTopic(t, s), 0)
	MustClose(t, s)
	path := filepath.Join(blocks.Dir(dir), "sentences", "msgs", "1.blk")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := len(b) / batchSize
	for end := size; end <= len(b); end += size {
		b[end-1] ^= 1
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	MustStart(t, in(dir), func(c *jetstream.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	if _, err := os.Stat(filepath.Join(dir, "damaged")); err == nil || !strings.Contains(log.String(), "another version") {
		t.Errorf("%v; logged %s", err, log)
	}
}

// TestADamagedDescription of a stream: it is made again, and its messages are there.
func TestADamagedDescription(t *testing.T) {
	for _, name := range []string{"meta.inf", "meta.sum"} {
		dir, log := t.TempDir(), new(bytes.Buffer)
		s := MustStart(t, in(dir))
		mustAppend(t, MustOpenTopic(t, s), 0, 1, 2)
		MustClose(t, s)
		path := filepath.Join(blocks.Dir(dir), "sentences", name)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[12] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s = MustStart(t, in(dir), func(c *jetstream.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
		x := MustOpenTopic(t, s)
		if state := mustState(t, s); state.Msgs != 3*batchSize || !strings.Contains(log.String(), "meta.inf") {
			t.Errorf("%s: %d messages; logged %s", name, state.Msgs, log)
		}
		mustAppend(t, x, 3)
		if state := mustState(t, s); state.LastSeq != 4*batchSize {
			t.Errorf("%s: the last is %d", name, state.LastSeq)
		}
	}
}

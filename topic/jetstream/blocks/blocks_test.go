package blocks_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"refrain/topic"
	"refrain/topic/jetstream"
	"refrain/topic/jetstream/blocks"
)

const (
	messages = 4000
	each     = 5000 // bytes: three blocks
)

func topicConfig() jetstream.TopicConfig {
	cfg := jetstream.DefaultTopic()
	cfg.Name, cfg.Partitions, cfg.MaxAge, cfg.Logger = "sentences", 3, time.Hour, slog.New(slog.DiscardHandler)
	return cfg
}

func mustStart(t *testing.T, dir string) (*jetstream.Server, *jetstream.Topic) {
	t.Helper()
	cfg := jetstream.Default()
	cfg.Dir, cfg.Logger = dir, slog.New(slog.DiscardHandler)
	s, err := jetstream.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.OpenTopic(t.Context(), topicConfig())
	if err != nil {
		t.Fatal(err)
	}
	return s, x
}

func mustClose(t *testing.T, s *jetstream.Server) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// mustFill makes a data directory with a topic and a store, as a server leaves it that was stopped, and as one that was
// killed.
func mustFill(t *testing.T) (stopped, killed string) {
	t.Helper()
	stopped, killed = t.TempDir(), t.TempDir()
	s, x := mustStart(t, stopped)
	kv, err := s.OpenStore(t.Context(), "state")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range messages / 100 {
		var records []topic.Record
		for j := range 100 {
			data := make([]byte, each)
			for k := range data {
				data[k] = byte(r.Uint32())
			}
			records = append(records, topic.Record{Partition: j % 3, Data: data})
		}
		if err := x.Append(t.Context(), records); err != nil {
			t.Fatal(err)
		}
		if err := kv.Put(t.Context(), fmt.Sprintf("shard/%d", i%4), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	mustCopy(t, killed, stopped)
	mustClose(t, s)
	return stopped, killed
}

func mustCopy(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func mustScan(t *testing.T, dir, name string) *blocks.Stream {
	t.Helper()
	s, err := blocks.Scan(dir, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSoundStreams(t *testing.T) {
	stopped, killed := mustFill(t)
	for dir, clean := range map[string]bool{stopped: true, killed: false} {
		names, err := blocks.Streams(dir)
		if want := []string{"KV_state", "sentences"}; err != nil || !slices.Equal(names, want) {
			t.Fatalf("%q, %v", names, err)
		}
		s := mustScan(t, dir, "sentences")
		if s.Messages != messages || s.First != 1 || s.Last != messages || len(s.Gaps)+len(s.Damage) > 0 || s.Clean != clean || s.Torn {
			t.Errorf("%+v", s)
		}
		kv := mustScan(t, dir, "KV_state")
		if kv.Last != messages/100 || len(kv.Damage) > 0 || kv.Clean != clean {
			t.Errorf("%+v", kv)
		}
	}
}

// kept are the sequences that a server has on a directory.
func kept(t *testing.T, dir string) map[int64]bool {
	t.Helper()
	s, x := mustStart(t, dir)
	defer mustClose(t, s)
	start, end, err := x.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	has := map[int64]bool{}
	if slices.Equal(start, end) {
		return has
	}
	r, err := x.Open(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for last := int64(0); last < slices.Max(end)-1; {
		records, err := r.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range records {
			has[x.Position], last = true, x.Position
		}
	}
	return has
}

// TestWhatIsLostIsWhatTheServerLacks: the real server, started on damaged files, makes good what it can before, and lacks
// what Scan says then: the records that were damaged, and no others of their blocks.
func TestWhatIsLostIsWhatTheServerLacks(t *testing.T) {
	stopped, killed := mustFill(t)
	r := rand.New(rand.NewPCG(2, 2))
	for i := range 32 {
		from := []string{stopped, killed}[i%2]
		dir := t.TempDir()
		mustCopy(t, dir, from)
		what := harm(t, r, dir, i/2)
		before := mustScan(t, dir, "sentences")
		if err := before.Repair(filepath.Join(dir, "damaged")); err != nil {
			t.Fatal(err)
		}
		after := mustScan(t, dir, "sentences")
		has := kept(t, dir)
		for _, l := range after.Lost() {
			for seq := l.First; seq <= l.Last; seq++ {
				if has[int64(seq)] {
					t.Errorf("%s: %d is there", what, seq)
				}
			}
		}
		said, missing := blocks.Sum(blocks.Union(append(after.Lost(), before.Gaps...))), int64(messages-len(has))
		if tail := i/2%4 == 2; said != missing && !(tail && from == killed) || missing > 2 && !tail {
			t.Errorf("%s (stopped in order: %v): %d said to be lost, %d are", what, from == stopped, said, missing)
		}
		t.Logf("%s (stopped in order: %v): %d findings, %d would be dropped, %d lost", what, from == stopped, len(before.Damage), blocks.Sum(before.Lost()), missing)
	}
}

// harm damages one thing of the topic.
func harm(t *testing.T, r *rand.Rand, dir string, how int) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(blocks.Dir(dir), "sentences", "msgs", "*.blk"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%q, %v", files, err)
	}
	path := files[r.IntN(len(files))]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := r.IntN(len(b))
	switch how % 4 {
	case 0, 1:
		b[at] ^= 1 << r.IntN(8)
	case 2:
		b = b[:at]
	case 3:
		copy(b[at:], make([]byte, 4096))
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s of %s at %d", []string{"a bit", "a bit", "the end", "4 KiB"}[how%4], filepath.Base(path), at)
}

// TestRandomDamage: a flipped bit is found, wherever it is, and nothing panics.
func TestRandomDamage(t *testing.T) {
	stopped, killed := mustFill(t)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 60 {
		dir := []string{stopped, killed}[i%2]
		var files []string
		for _, pattern := range []string{"*", "msgs/*"} {
			some, _ := filepath.Glob(filepath.Join(blocks.Dir(dir), "*", pattern))
			files = append(files, some...)
		}
		path := files[r.IntN(len(files))]
		b, err := os.ReadFile(path)
		if err != nil { // a folder
			continue
		}
		at, bit := r.IntN(len(b)), byte(1)<<r.IntN(8)
		b[at] ^= bit
		mustWrite(t, path, b)
		var found int
		for _, name := range []string{"sentences", "KV_state"} {
			found += len(mustScan(t, dir, name).Damage)
		}
		if found == 0 {
			t.Errorf("%s: bit %#x at %d: not found", path, bit, at)
		}
		b[at] ^= bit
		mustWrite(t, path, b)
	}
}

func mustWrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

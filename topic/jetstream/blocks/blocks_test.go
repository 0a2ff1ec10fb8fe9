package blocks_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
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

const partitions = 3

func mustStart(tb testing.TB, dir string) (*jetstream.Server, *jetstream.Topic) {
	tb.Helper()
	cfg := jetstream.Default()
	cfg.Dir, cfg.Logger = dir, slog.New(slog.DiscardHandler)
	s, err := jetstream.Start(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tc := jetstream.DefaultTopic()
	tc.Name, tc.Partitions, tc.Logger = "sentences", partitions, cfg.Logger
	x, err := s.OpenTopic(tb.Context(), tc)
	if err != nil {
		tb.Fatal(err)
	}
	return s, x
}

func mustClose(tb testing.TB, s *jetstream.Server) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
}

// mustFill makes a data directory with a topic and a store, as a server leaves it that was stopped, and as one that was
// killed.
func mustFill(tb testing.TB, messages, largest int) (stopped, killed string) {
	tb.Helper()
	stopped, killed = tb.TempDir(), tb.TempDir()
	s, x := mustStart(tb, stopped)
	kv, err := s.OpenStore(tb.Context(), "state")
	if err != nil {
		tb.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := 0; i < messages; i += 10 {
		var records []topic.Record
		for range min(10, messages-i) {
			records = append(records, topic.Record{Partition: r.IntN(partitions), Data: noise(r, 1+r.IntN(largest))})
		}
		if err := x.Append(tb.Context(), records); err != nil {
			tb.Fatal(err)
		}
		if err := kv.Put(tb.Context(), fmt.Sprintf("shard/%d", i/10%4), noise(r, 100)); err != nil {
			tb.Fatal(err)
		}
	}
	mustCopy(tb, killed, stopped)
	mustClose(tb, s)
	return stopped, killed
}

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+7)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b[:n]
}

func mustCopy(tb testing.TB, to, from string) {
	tb.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		tb.Fatal(err)
	}
}

func mustScan(tb testing.TB, dir, name string) *blocks.Stream {
	tb.Helper()
	s, err := blocks.Scan(dir, name, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func mustRead(tb testing.TB, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func mustWrite(tb testing.TB, path string, b []byte) {
	tb.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func TestSoundStreams(t *testing.T) {
	const messages = 4000
	stopped, killed := mustFill(t, messages, 5000)
	for dir, clean := range map[string]bool{stopped: true, killed: false} {
		names, err := blocks.Streams(dir)
		if want := []string{"KV_state", "sentences"}; err != nil || !slices.Equal(names, want) {
			t.Fatalf("%q, %v", names, err)
		}
		s := mustScan(t, dir, "sentences")
		if s.Messages != messages || s.First != 1 || s.Last != messages || len(s.Missing)+len(s.Damage) > 0 ||
			s.Clean != clean || s.Torn {
			t.Errorf("%+v", s)
		}
		kv := mustScan(t, dir, "KV_state")
		if kv.Last != messages/10 || len(kv.Damage) > 0 || kv.Clean != clean {
			t.Errorf("%+v", kv)
		}
	}
}

// span is where a record is.
type span struct {
	file  string
	begin int64
	size  int
	seq   uint64
}

// mustMap finds where each message is.
func mustMap(tb testing.TB, dir, name string) (all []span) {
	tb.Helper()
	_, err := blocks.Scan(dir, name, func(file string, r blocks.Record) error {
		if r.Message {
			all = append(all, span{file, r.Offset, r.Size, r.Seq})
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// sequences are those of ranges, in order.
func sequences(ranges []blocks.Range) (all []uint64) {
	for _, r := range ranges {
		for seq := r.First; seq <= r.Last; seq++ {
			all = append(all, seq)
		}
	}
	return all
}

// TestEveryBit of a small stream flipped, one at a time: the scan says that its record is lost, and no other.
func TestEveryBit(t *testing.T) {
	stopped, killed := mustFill(t, 5, 12)
	for _, dir := range []string{stopped, killed} {
		spans := mustMap(t, dir, "sentences")
		path := spans[0].file
		b := mustRead(t, path)
		for _, x := range spans {
			for bit := range 8 * x.size {
				at := x.begin + int64(bit/8)
				b[at] ^= 1 << (bit % 8)
				mustWrite(t, path, b)
				s := mustScan(t, dir, "sentences")
				if lost := sequences(s.Missing); !slices.Equal(lost, []uint64{x.seq}) || len(s.Damage) != 1 ||
					s.Damage[0].Offset != x.begin {
					t.Errorf("record %d at %d of %d bytes, bit %d: lost %v, %+v", x.seq, x.begin, x.size, bit, lost, s.Damage)
				}
				b[at] ^= 1 << (bit % 8)
			}
		}
		mustWrite(t, path, b)
	}
}

// scanAll returns the sequences that a server gives out, and how many it says are lost.
func scanAll(t *testing.T, dir string) (all []uint64, lost int64) {
	t.Helper()
	s, x := mustStart(t, dir)
	defer mustClose(t, s)
	start, end, err := x.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(start, end) {
		return nil, x.Lost()
	}
	r, err := x.Open(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for n := len(mustMap(t, dir, "sentences")); len(all) < n; {
		records, err := r.Fetch(ctx)
		if err != nil {
			t.Errorf("%d of %d messages read: %v", len(all), n, err)
			break
		}
		for _, x := range records {
			all = append(all, uint64(x.Position))
		}
	}
	return all, x.Lost()
}

var full = flag.Bool("full", false, "the long versions of the tests")

// TestRandomBits flips some in the topic of a real server, as it leaves it that is stopped, or killed. The next one has all
// records but those that were hit, and counts these; after it nothing is damaged, and the one after says the same.
func TestRandomBits(t *testing.T) {
	stopped, killed := mustFill(t, 6000, 3000)
	spans := mustMap(t, stopped, "sentences")
	total, directories := 0, uint64(8)
	if *full {
		directories = 64
	}
	for seed := range directories {
		r, from := rand.New(rand.NewPCG(seed, 2)), []string{stopped, killed}[seed%2]
		dir := t.TempDir()
		mustCopy(t, dir, from)
		var want []uint64
		hit := map[uint64]bool{}
		for range 1 + r.IntN(6) {
			x := spans[r.IntN(len(spans))]
			if seed%4 < 2 && len(hit) == 0 {
				x = spans[[]int{0, len(spans) - 1}[seed/4%2]] // the first, or the last
			}
			path := filepath.Join(blocks.Dir(dir), "sentences", "msgs", filepath.Base(x.file))
			b := mustRead(t, path)
			b[x.begin+int64(r.IntN(x.size))] ^= 1 << r.IntN(8)
			mustWrite(t, path, b)
			hit[x.seq] = true
		}
		for _, x := range spans {
			if !hit[x.seq] {
				want = append(want, x.seq)
			}
		}
		total += len(hit)
		got, lost := scanAll(t, dir)
		if !slices.Equal(got, want) || lost != int64(len(hit)) {
			t.Errorf("seed %d: %d of %d messages are there, %d said to be lost, %d were hit (%v)", seed, len(got), len(spans),
				lost, len(hit), hit)
		}
		if s := mustScan(t, dir, "sentences"); len(s.Damage) > 0 {
			t.Errorf("seed %d: still damaged: %+v", seed, s.Damage)
		}
		got, again := scanAll(t, dir)
		if !slices.Equal(got, want) || again > lost || !hit[1] && !hit[6000] && again != lost {
			t.Errorf("seed %d, second start: %d messages, %d said to be lost", seed, len(got), again)
		}
	}
	t.Logf("%d records hit in %d directories", total, directories)
}

// TestATornEndIsLeftAlone: a server that is killed as it writes leaves a part of a record, which nobody was told to be kept.
func TestATornEndIsLeftAlone(t *testing.T) {
	_, killed := mustFill(t, 50, 100)
	spans := mustMap(t, killed, "sentences")
	last := spans[len(spans)-1]
	b := mustRead(t, last.file)
	for size := last.begin + 1; size < last.begin+int64(last.size); size++ {
		mustWrite(t, last.file, b[:size])
		s := mustScan(t, killed, "sentences")
		if !s.Torn || len(s.Damage)+len(s.Missing) > 0 || s.Last != last.seq-1 {
			t.Fatalf("cut at %d: %+v", size, s)
		}
		if err := s.Repair(filepath.Join(killed, "damaged")); err != nil || !bytes.Equal(mustRead(t, last.file), b[:size]) {
			t.Fatalf("cut at %d: it is not as it was: %v", size, err)
		}
	}
}

// TestKilledInRepair: at each step, and within each; the next start finishes it, and loses nothing more.
func TestKilledInRepair(t *testing.T) {
	stopped, killed := mustFill(t, 60, 100)
	spans := mustMap(t, stopped, "sentences")
	x := spans[30]
	for _, from := range []string{stopped, killed} {
		b := mustRead(t, filepath.Join(blocks.Dir(from), "sentences", "msgs", "1.blk"))
		b[x.begin+40] ^= 1
		repaired := t.TempDir()
		mustCopy(t, repaired, from)
		path := filepath.Join(blocks.Dir(repaired), "sentences", "msgs", "1.blk")
		mustWrite(t, path, b)
		if err := mustScan(t, repaired, "sentences").Repair(filepath.Join(repaired, "damaged")); err != nil {
			t.Fatal(err)
		}
		after := mustRead(t, path)
		for written := 0; written <= x.size; written += 1 + x.size/7 {
			dir := t.TempDir()
			mustCopy(t, dir, from)
			path := filepath.Join(blocks.Dir(dir), "sentences", "msgs", "1.blk")
			if written > 0 { // the index is removed before
				if err := os.RemoveAll(filepath.Join(filepath.Dir(path), "index.db")); err != nil {
					t.Fatal(err)
				}
			}
			half := slices.Clone(b)
			copy(half[x.begin:x.begin+int64(written)], after[x.begin:])
			mustWrite(t, path, half)
			if got, lost := scanAll(t, dir); len(got) != len(spans)-1 || slices.Contains(got, x.seq) || lost != 1 {
				t.Errorf("%d bytes written: %d messages, %d lost", written, len(got), lost)
			}
		}
	}
}

// TestRandomDamage: a flipped bit is found, in whatever file it is, and nothing panics.
func TestRandomDamage(t *testing.T) {
	stopped, killed := mustFill(t, 1000, 3000)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 200 {
		dir := []string{stopped, killed}[i%2]
		var files []string
		for _, pattern := range []string{"*/*", "*/msgs/*"} {
			some, _ := filepath.Glob(filepath.Join(blocks.Dir(dir), pattern))
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

// TestOtherLayouts: what a server writes that encrypts or compresses, or is of another version, is no damage.
func TestOtherLayouts(t *testing.T) {
	stopped, _ := mustFill(t, 9, 20)
	msgs := filepath.Join("sentences", "msgs")
	for what, change := range map[string]func(t *testing.T, streams string){
		"encrypted":   func(t *testing.T, streams string) { mustWrite(t, filepath.Join(streams, "sentences", "meta.key"), nil) },
		"a block key": func(t *testing.T, streams string) { mustWrite(t, filepath.Join(streams, msgs, "1.key"), nil) },
		"compressed": func(t *testing.T, streams string) {
			mustWrite(t, filepath.Join(streams, msgs, "1.blk"), []byte("cmp\x01 and so on"))
		},
		"a newer index": func(t *testing.T, streams string) {
			path := filepath.Join(streams, msgs, "index.db")
			b := mustRead(t, path)
			b[1]++
			mustWrite(t, path, blocks.Summed("sentences", b[:len(b)-8]))
		},
		"a purge": func(t *testing.T, streams string) {
			if err := os.Mkdir(filepath.Join(streams, "sentences", "__msgs__"), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"a block of 1 GiB": func(t *testing.T, streams string) {
			if err := os.Truncate(filepath.Join(streams, msgs, "1.blk"), 1<<30); err != nil {
				t.Fatal(err)
			}
		},
	} {
		dir := t.TempDir()
		mustCopy(t, dir, stopped)
		change(t, blocks.Dir(dir))
		var other *blocks.LayoutError
		if _, err := blocks.Scan(dir, "sentences", nil); !errors.As(err, &other) {
			t.Errorf("%s: %v", what, err)
		} else {
			t.Logf("%s: %v", what, err)
		}
	}
}

// BenchmarkScan reads a topic of sentence records of 100 bytes to 1.5 kB.
func BenchmarkScan(b *testing.B) {
	stopped, _ := mustFill(b, 100_000, 1500)
	b.ReportAllocs()
	for b.Loop() {
		bytes := mustScan(b, stopped, "sentences").Bytes
		b.SetBytes(bytes)
	}
}

// TestShiftedBlocks: bytes too many at the beginning, fewer than any record has, or anywhere. Repair leaves what it can.
func TestShiftedBlocks(t *testing.T) {
	stopped, _ := mustFill(t, 200, 200)
	r := rand.New(rand.NewPCG(3, 3))
	sound := mustRead(t, filepath.Join(blocks.Dir(stopped), "sentences", "msgs", "1.blk"))
	for n := range 40 {
		at := n % 2 * r.IntN(len(sound))
		dir := t.TempDir()
		mustCopy(t, dir, stopped)
		mustWrite(t, filepath.Join(blocks.Dir(dir), "sentences", "msgs", "1.blk"),
			slices.Insert(slices.Clone(sound), at, noise(r, n)...))
		s := mustScan(t, dir, "sentences")
		if err := s.Repair(filepath.Join(dir, "damaged")); err != nil {
			t.Error(err)
		}
		if again := mustScan(t, dir, "sentences"); len(again.Damage) > 1 || again.Messages < 190 { // the index is gone
			t.Errorf("%d bytes at %d: %d messages left, damage %v", n, at, again.Messages, again.Damage)
		}
	}
}

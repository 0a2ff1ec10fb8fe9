package shard_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/dataset"
	"refrain/internal/oracle"
	"refrain/shard"
	"refrain/split"
	"refrain/text"
	"refrain/topic"
	"refrain/topic/jetstream"
)

var (
	mixtures = flag.Uint64("mixtures.seed", 0, "of the mixtures; 0: a new one")
)

// streams are what reaches the disk apart.
var streams = []string{"sentences", "events", "control", "KV_state"}

const span, lateness = 30 * 24 * time.Hour, 5 * time.Minute

// machine is split and two workers on a data directory.
type machine struct {
	tb                         testing.TB
	dir                        string
	server                     *jetstream.Server
	sentences, events, control *jetstream.Topic
	split                      *split.Split
	workers                    []*shard.Worker
	running                    sync.WaitGroup
	stop                       context.CancelFunc
}

func start(tb testing.TB, dir string) *machine {
	tb.Helper()
	m := &machine{tb: tb, dir: dir}
	cfg := jetstream.Default()
	cfg.Dir, cfg.Logger = dir, slog.New(slog.DiscardHandler)
	m.server = must(jetstream.Start(cfg))(tb)
	m.sentences = m.open("sentences", 4)
	m.events = m.open("events", 1)
	m.control = m.open("control", 1)
	store := must(m.server.OpenStore(tb.Context(), "state"))(tb)
	writer := split.Default()
	writer.Sentences, writer.Control, writer.Lateness, writer.Logger = m.sentences, m.control, lateness, cfg.Logger
	m.split = must(split.New(writer))(tb)
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.Background())
	for _, owned := range shard.Owners(4, 2) {
		w := must(shard.Open(tb.Context(), m.config(store, owned)))(tb)
		m.workers = append(m.workers, w)
		m.running.Go(func() { _ = w.Run(ctx) }) // what it could not store does not matter
	}
	return m
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func (m *machine) open(name string, partitions int) *jetstream.Topic {
	cfg := jetstream.DefaultTopic()
	cfg.Name, cfg.Partitions, cfg.Packed, cfg.Logger = name, partitions, name == "events", slog.New(slog.DiscardHandler)
	return must(m.server.OpenTopic(m.tb.Context(), cfg))(m.tb)
}

// config has states stored, and older ones too, so often that a short run has an hour of them.
func (m *machine) config(store topic.Store, owned []int) shard.Config {
	cfg := shard.Default()
	cfg.Sentences, cfg.Events, cfg.Control, cfg.Store, cfg.Owned = m.sentences, m.events, m.control, store, owned
	cfg.Span, cfg.Lateness, cfg.Poll, cfg.ControlPoll, cfg.Commit, cfg.OlderInterval = span, lateness, 5*time.Millisecond, 5*time.Millisecond,
		5*time.Millisecond, 20*time.Millisecond
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.Rows = func(int) (shard.Rows, error) {
		return detector.NewPartition(detector.Config{
			Threshold: text.DefaultThreshold, Span: span, Lateness: lateness,
			Model: must(hashcodes.NewMD5(64, 1))(m.tb), Engine: detector.Scan,
		})
	}
	return cfg
}

// feed writes posts in batches, and calls between after each.
func (m *machine) feed(posts []feed.Post, between func()) {
	m.tb.Helper()
	for batch := range slices.Chunk(slices.Clone(posts), 20) {
		if err := m.split.Write(m.tb.Context(), batch, "s"); err != nil {
			m.tb.Fatal(err)
		}
		m.split.Tick(m.tb.Context(), time.Now())
		between()
	}
}

// drain waits until all is looked up.
func (m *machine) drain() {
	m.tb.Helper()
	ctx, cancel := context.WithTimeout(m.tb.Context(), time.Minute)
	defer cancel()
	_, ends, err := m.sentences.Bounds(ctx)
	if err != nil {
		m.tb.Fatal(err)
	}
	for _, w := range m.workers {
		if err := w.WaitFor(ctx, ends); err != nil {
			m.tb.Fatalf("not through: %v", err)
		}
	}
}

func (m *machine) close() {
	m.stop()
	m.running.Wait()
	if err := m.server.Close(); err != nil {
		m.tb.Error(err)
	}
}

// records calls see for all that a topic holds.
func (m *machine) records(t *jetstream.Topic, see func(*topic.Record)) {
	m.tb.Helper()
	start, end, err := t.Bounds(m.tb.Context())
	if err != nil {
		m.tb.Fatal(err)
	}
	last := slices.Max(end) - 1
	if slices.Equal(start, end) {
		return
	}
	r := must(t.Open(m.tb.Context(), slices.Repeat([]int64{slices.Min(start)}, len(start))))(m.tb)
	defer r.Close()
	for done := false; !done; {
		for _, record := range must(r.Fetch(m.tb.Context()))(m.tb) {
			see(&record)
			done = done || record.Position >= last
		}
	}
}

// missing are the events that the sentences of the sentence topic want and the event topic lacks.
func (m *machine) missing() (missing []feed.Hash, want int) {
	var retained oracle.Feed
	m.records(m.sentences, func(r *topic.Record) {
		b := must(topic.DecodeBatch(r.Data))(m.tb)
		for i := range b.Sentences {
			retained.AddSentence(&b.Sentences[i])
		}
	})
	var got []feed.Hash
	m.records(m.events, func(r *topic.Record) {
		if e, err := feed.DecodeEvent(r.Data); err == nil {
			got = append(got, e.ID)
		}
	})
	wanted := oracle.IDs(retained.Index().Matches(text.Jaccard.At(text.DefaultThreshold), span))
	missing, _ = oracle.Diff(oracle.Sorted(got), wanted)
	return missing, len(wanted)
}

// copies are what one stream's files were at some moments.
type copies map[string][]string

// copier copies streams while they are written.
type copier struct {
	tb     testing.TB
	from   string
	to     string
	copies copies
	n      int
}

func (c *copier) copy(stream string) {
	c.tb.Helper()
	c.n++
	to := filepath.Join(c.to, strconv.Itoa(c.n))
	if err := copyStream(filepath.Join(c.from, "jetstream", "$G", "streams", stream), to); err != nil {
		c.tb.Fatal(err)
	}
	c.copies[stream] = append(c.copies[stream], to)
}

// copyStream copies the files of a stream that is being written, the newest block first: so the copy holds everything up
// to some record, as far as each file was written, and has no holes.
func copyStream(from, to string) error {
	var files []string
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "obs" { // readers
			return fs.SkipDir
		}
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return ignoreGone(err)
	})
	if err != nil {
		return err
	}
	block := func(path string) int {
		n, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".blk"))
		return n
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(block(b), block(a)) })
	for _, path := range files {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, data, 0o600)); err != nil {
			return err
		}
	}
	return nil
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// mix makes a data directory of one copy of each stream.
func mix(tb testing.TB, r *rand.Rand, made copies) (dir, moments string) {
	tb.Helper()
	dir = tb.TempDir()
	for _, stream := range streams {
		n := r.IntN(len(made[stream]))
		moments += fmt.Sprintf("%s %d of %d, ", stream, n, len(made[stream]))
		if err := copyStream(made[stream][n], filepath.Join(dir, "jetstream", "$G", "streams", stream)); err != nil {
			tb.Fatal(err)
		}
	}
	return dir, moments
}

// run feeds posts to a machine and copies its streams at random moments, the first before and the last after all.
func (m *machine) run(r *rand.Rand, posts []feed.Post) copies {
	c := &copier{tb: m.tb, from: m.dir, to: m.tb.TempDir(), copies: copies{}}
	for _, stream := range streams {
		c.copy(stream)
	}
	m.feed(posts, func() {
		for r.IntN(3) == 0 {
			c.copy(streams[r.IntN(len(streams))])
		}
	})
	m.drain()
	for _, stream := range streams {
		c.copy(stream)
	}
	return c.copies
}

func posts(tb testing.TB, n int) (posts []feed.Post) {
	r := must(oracle.Open(dataset.File(tb, "stream/ira_2012-02_2016-08.jsonl.zst")))(tb)
	defer r.Close()
	for p, err := range oracle.Posts(r, n) {
		if err != nil {
			tb.Fatal(err)
		}
		posts = append(posts, p)
	}
	slices.SortStableFunc(posts, func(a, b feed.Post) int { return cmp.Compare(a.Time, b.Time) })
	return posts
}

// TestMixtures: the files of sentences, events, deletions and states, each of another moment of one run, in any mixture,
// and again of the run that goes on from there: every event of the sentences that are kept comes.
func TestMixtures(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	seed := cmp.Or(*mixtures, uint64(time.Now().UnixNano()))
	r := rand.New(rand.NewPCG(seed, 0))
	chains, generations := 5, 4
	if *shard.Full {
		chains, generations = 40, 5 // 200
	}
	t.Logf("seed %d (-mixtures.seed)", seed)
	const first, more = 3000, 300
	all := posts(t, first+generations*more)
	m := start(t, t.TempDir())
	base := m.run(r, all[:first])
	m.close()
	missed, wanted := 0, 0
	for chain := range chains {
		made := base
		for g := range generations {
			dir, moments := mix(t, r, made)
			m := start(t, dir)
			made = m.run(r, all[first+g*more:][:more])
			missing, want := m.missing()
			m.close()
			missed, wanted = missed+len(missing), wanted+want
			if len(missing) > 0 {
				t.Errorf("chain %d, generation %d: %d of %d events are missing; %s", chain, g, len(missing), want, moments)
			}
		}
	}
	t.Logf("%d mixtures: %d of %d events lost", chains*generations, missed, wanted)
}

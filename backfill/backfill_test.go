package backfill_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"refrain/backfill"
	"refrain/detector"
	"refrain/feed"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
	"refrain/text"
)

// archive is posts as files of a folder.
func archive(t testing.TB, files ...[]byte) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i, posts := range files {
		path := filepath.Join(dir, fmt.Sprintf("posts-%d.jsonl", i))
		mustWrite(t, path, posts)
		paths = append(paths, path)
	}
	return paths
}

func mustWrite(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// config is a backfill of files into a folder of its own.
func config(t testing.TB, files []string, changes ...func(*backfill.Config)) backfill.Config {
	c := backfill.Default()
	c.Files, c.Out, c.Workers = files, filepath.Join(t.TempDir(), "out"), 2
	c.SortBytes = 8 << 20
	for _, change := range changes {
		change(&c)
	}
	return c
}

func mustRun(t testing.TB, c backfill.Config) backfill.Manifest {
	t.Helper()
	m, err := backfill.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// contents are the lines of all files of a kind, in the order of their names.
func contents(t testing.TB, out, pattern string) []byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(out, pattern))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

// events reads them, and wants them in order: of the later sentence, then of the group; versions of a post of one time stand one
// after the other.
func events(t testing.TB, out string) (ids []feed.Hash) {
	t.Helper()
	var before feed.Match
	for line := range bytes.Lines(contents(t, out, "events-*.jsonl")) {
		m, err := feed.DecodeEvent(line)
		if err != nil {
			t.Fatal(err)
		}
		key, last := m.Later.Key(), before.Later.Key()
		c := key.Compare(last)
		ordered := c > 0 || c == 0 && bytes.Compare(m.Group[:], before.Group[:]) > 0
		if !ordered && (!key.SamePost(last) || key.Time != last.Time) {
			t.Errorf("event %s of %v comes after one of %v", m.ID, m.Later.Key(), before.Later.Key())
		}
		ids, before = append(ids, m.ID), m
	}
	return ids
}

// compareIDs wants every id once, and no other.
func compareIDs(t testing.TB, got, want []feed.Hash) {
	t.Helper()
	n := len(got)
	got = oracle.Sorted(slices.Clone(got))
	if len(got) != n {
		t.Errorf("%d of %d events are there twice", n-len(got), n)
	}
	if missing, extra := oracle.Diff(got, want); len(missing)+len(extra) > 0 {
		t.Errorf("%d events missing, %d extra, of %d", len(missing), len(extra), len(want))
	}
}

// shuffled are the lines in any order, dealt to so many files.
func shuffled(posts []byte, seed uint64, files int) [][]byte {
	lines := e2e.SplitLines(posts)
	r := rand.New(rand.NewPCG(seed, 7))
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	dealt := make([][]byte, files)
	for i, line := range lines {
		dealt[i%files] = append(dealt[i%files], line...)
	}
	return dealt
}

// variant is a way to do the same.
type variant struct {
	name   string
	change func(*backfill.Config)
}

// variants change neither events nor posts.
func variants() []variant {
	set := func(slice string, workers, columns, partitions, sortBytes, batch int) variant {
		name := fmt.Sprintf("slice %s, workers %d, columns %d, partitions %d, %d bytes sorted, batch %d", slice, workers, columns,
			partitions, sortBytes, batch)
		return variant{name, func(c *backfill.Config) {
			c.Slice, _ = time.ParseDuration(slice)
			c.Workers, c.Columns, c.Partitions, c.SortBytes, c.Batch = workers, columns, partitions, sortBytes, batch
		}}
	}
	return []variant{
		set("168h", 1, 1, 1, 128<<20, 500), set("24h", 2, 1, 1, 1<<20, 500), set("720h", 4, 1, 1, 100<<10, 7),
		set("87600h", 2, 4, 1, 1<<20, 500), set("87600h", 2, 3, 2, 300<<10, 64), set("168h", 1, 1, 3, 1<<20, 500),
	}
}

type corpus struct {
	name        string
	posts, full int
}

var corpora = []corpus{
	{"stream/ira_2012-02_2016-08.jsonl.zst", 3_000, 200_000},
	{"stream/weibo_ced_2010-2012.jsonl.zst", 3_000, 0},
}

// size is how many posts are read; 0: all.
func (c corpus) size() int {
	switch {
	case *e2e.Full:
		return c.full
	case testing.Short():
		return c.posts / 4
	}
	return c.posts
}

// TestAnyOrderAnyCut: whatever the order of the posts, the files they are in, the length of slices and how the work is dealt
// out, the events are those of detect over the posts in order, and the posts that stay are the same bytes.
func TestAnyOrderAnyCut(t *testing.T) {
	for _, c := range corpora {
		posts := e2e.Lines(t, c.name, c.size())
		files := archive(t, shuffled(posts, 1, 3)...)
		for _, span := range []time.Duration{24 * time.Hour, 7 * 24 * time.Hour} {
			s := e2e.DefaultSettings()
			s.Window.Span = span
			want := oracle.Sorted(e2e.Detect(t, posts, s, nil))
			var kept []byte
			for i, v := range variants() {
				t.Run(fmt.Sprintf("%s/%v/%s", filepath.Base(c.name), span, v.name), func(t *testing.T) {
					cfg := config(t, files, v.change)
					cfg.Window.Span, cfg.KeepFirst = span, true
					m := mustRun(t, cfg)
					compareIDs(t, events(t, cfg.Out), want)
					if got := contents(t, cfg.Out, "posts-*.jsonl"); i == 0 {
						kept = got
					} else if !bytes.Equal(got, kept) {
						t.Errorf("%d bytes of posts are kept, want the %d of the first variant", len(got), len(kept))
					}
					checkManifest(t, cfg, m)
				})
			}
		}
	}
}

// TestWindowsGiveBack: a window that is done gives its place on a GPU to the next.
func TestWindowsGiveBack(t *testing.T) {
	dealer, err := detector.NewDealer(t.Context(), detector.DefaultDealer())
	if err != nil {
		t.Fatal(err)
	}
	files := archive(t, shuffled(e2e.Lines(t, corpora[0].name, 500), 1, 1)...)
	cfg := config(t, files, func(c *backfill.Config) {
		c.Slice, c.Columns, c.Partitions = 24*time.Hour, 2, 2
		c.Window.Dealer = dealer
	})
	mustRun(t, cfg)
	if n := dealer.Windows(); n != 0 {
		t.Errorf("%d windows have a place still", n)
	}
}

// checkManifest holds a manifest to the files that are there.
func checkManifest(t testing.TB, cfg backfill.Config, m backfill.Manifest) {
	t.Helper()
	if !m.Complete || int(m.Events) != bytes.Count(contents(t, cfg.Out, "events-*.jsonl"), []byte("\n")) {
		t.Errorf("complete: %t, %d events", m.Complete, m.Events)
	}
	named := []string{"manifest.json"}
	for _, s := range m.Slices {
		for _, f := range s.Files {
			b, err := os.ReadFile(filepath.Join(cfg.Out, f.Name))
			if err != nil || int64(len(b)) != f.Bytes || sha(b) != f.SHA256 {
				t.Errorf("%s: %v, %d bytes, checksum %s; the manifest says %d, %s", f.Name, err, len(b), sha(b), f.Bytes, f.SHA256)
			}
			named = append(named, f.Name)
		}
	}
	if m.DeadLetters != nil {
		named = append(named, m.DeadLetters.Name)
	}
	entries, err := os.ReadDir(cfg.Out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(named, e.Name()) {
			t.Errorf("%s is left over", e.Name())
		}
	}
}

// smallFeed draws posts that repeat each other, themselves, and what was there before: few words, few times, few names.
func smallFeed(t *rapid.T) (posts []feed.Post) {
	words := []string{"a", "b", "c", "d", "e"}
	for range rapid.IntRange(0, 25).Draw(t, "posts") {
		p := feed.Post{
			Source: rapid.SampledFrom([]string{"", "s"}).Draw(t, "source"),
			ID:     fmt.Sprint(rapid.IntRange(1, 15).Draw(t, "id")), Timed: true,
			Time: feed.Time(rapid.IntRange(0, 25).Draw(t, "time")) * 1000,
		}
		for range rapid.IntRange(0, 2).Draw(t, "sentences") {
			p.Text += strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(t, "words"), " ") + "\n"
		}
		posts = append(posts, p)
	}
	return posts
}

func asJSON(t testing.TB, posts []feed.Post) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range posts {
		line, err := json.Marshal(map[string]any{"id": p.ID, "source": p.Source, "author": p.Author,
			"created_at": p.Time.String(), "text": p.Text})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// TestSmallFeeds compares with the definition, on feeds full of ties, versions of posts, redeliveries, and repeats at the very
// end of the span and of the slice.
func TestSmallFeeds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		posts := smallFeed(rt)
		seconds := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(1, most).Draw(rt, name)) * time.Second
		}
		cfg := config(t, archive(t, asJSON(t, posts)))
		cfg.Window.Threshold, cfg.Window.MinTokens = text.Threshold{Num: 1, Den: 2}, 1
		cfg.Window.Span, cfg.Slice = seconds("span", 30), seconds("slice", 30)
		cfg.Columns = rapid.IntRange(1, 3).Draw(rt, "columns")
		cfg.Partitions = rapid.IntRange(1, 2).Draw(rt, "partitions")
		cfg.Workers = rapid.IntRange(1, 3).Draw(rt, "workers")
		cfg.SortBytes = rapid.SampledFrom([]int{1, 200, 1 << 20}).Draw(rt, "sort bytes")
		cfg.Batch = rapid.IntRange(1, 20).Draw(rt, "batch")
		defer backfill.SetMaxIDs(int64(rapid.SampledFrom([]int{1, 7, 1000}).Draw(rt, "ids at once")))()
		m := mustRun(t, cfg)
		o := oracle.Feed{MinTokens: 1}
		for i := range posts {
			o.Add(&posts[i])
		}
		compareIDs(t, events(t, cfg.Out), oracle.IDs(o.Brute(cfg.Window.Measure(), cfg.Window.Span)))
		checkManifest(t, cfg, m)
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
}

// skipShort leaves a long test out of the run with the race detector: shorter ones do the same at once.
func skipShort(t *testing.T) {
	if testing.Short() {
		t.Skip("long: runs without -short")
	}
}

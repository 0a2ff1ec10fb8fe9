package storetest_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/dataset"
	"refrain/internal/devservers"
	"refrain/internal/oracle"
	"refrain/lookup"
	"refrain/lookup/boltstore"
	"refrain/lookup/redisstore"
	"refrain/lookup/storetest"
)

const ira = "stream/ira_2012-02_2016-08.jsonl.zst"

// events are those of the first posts of a real feed.
func events(tb testing.TB, posts int) (matches []feed.Match) {
	tb.Helper()
	f := &oracle.Feed{MinTokens: 4}
	if _, err := f.ReadFile(dataset.File(tb, ira), posts); err != nil {
		tb.Fatal(err)
	}
	model, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		tb.Fatal(err)
	}
	cfg := detector.Default()
	cfg.Model, cfg.Engine = model, detector.Prefix
	d, err := detector.NewPartitions(cfg, 1, 1)
	if err != nil {
		tb.Fatal(err)
	}
	for batch := range slices.Chunk(f.Sentences(), 1000) {
		matches, _ = d.Detect(matches, batch)
		d.Advance(batch[len(batch)-1].Time - feed.Time(time.Hour.Milliseconds()))
	}
	return matches
}

// stores are those that are measured and tried with real posts.
var stores = map[string]func(tb testing.TB) (s lookup.Store, bytes func() int64){
	"bolt":      openBolt,
	"redis":     openRedis,
	"miniredis": openMiniredis,
}

func openBolt(tb testing.TB) (lookup.Store, func() int64) {
	path := filepath.Join(tb.TempDir(), "lookup.db")
	cfg := boltstore.Default()
	cfg.Path = path
	s, err := boltstore.Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return s, func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			tb.Fatal(err)
		}
		return info.Size()
	}
}

func openRedis(tb testing.TB) (lookup.Store, func() int64) {
	addr := devservers.StartRedis(tb).Addr()
	client := redis.NewClient(&redis.Options{Addr: addr})
	tb.Cleanup(func() { client.Close() })
	return mustRedis(tb, addr), func() int64 { return usedMemory(tb, client) }
}

func openMiniredis(tb testing.TB) (lookup.Store, func() int64) {
	return mustRedis(tb, miniredis.RunT(tb).Addr()), func() int64 { return 0 }
}

func mustRedis(tb testing.TB, addr string) lookup.Store {
	tb.Helper()
	cfg := redisstore.Default()
	cfg.URL = "redis://" + addr
	s, err := redisstore.Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func usedMemory(tb testing.TB, client *redis.Client) int64 {
	tb.Helper()
	info, err := client.Info(context.Background(), "memory").Result()
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			used, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			return used
		}
	}
	tb.Fatal("Redis does not say how much memory it uses")
	return 0
}

func changes(matches []feed.Match) []lookup.Change {
	out := make([]lookup.Change, len(matches))
	for i := range matches {
		out[i] = lookup.Change{Match: &matches[i]}
	}
	return out
}

func applyAll(tb testing.TB, s lookup.Store, all []lookup.Change) {
	tb.Helper()
	for batch := range slices.Chunk(all, 500) {
		if err := s.Apply(context.Background(), batch); err != nil {
			tb.Fatal(err)
		}
	}
}

type postID struct{ source, post string }

// TestRealPosts gives real events in a random order, a third of them twice, and asks about every post they name. The
// answers are those that the definition gives.
func TestRealPosts(t *testing.T) {
	matches := events(t, 50_000)
	if len(matches) < 5000 {
		t.Fatalf("%d events: too few to mean anything", len(matches))
	}
	all := changes(matches)
	all = append(all, all[:len(all)/3]...)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	want := recompute(matches)
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t)
			defer s.Close()
			applyAll(t, s, all)
			for id, w := range want {
				got, err := s.Reuse(t.Context(), id.source, id.post, lookup.Page{Limit: 1 << 20})
				if err != nil {
					t.Fatal(err)
				}
				if g := lines(&got); !slices.Equal(g, w) {
					t.Fatalf("post %s:\ngot  %q\nwant %q", id.post, g, w)
				}
			}
			t.Logf("%d events, %d posts", len(matches), len(want))
		})
	}
}

// lines says what of an answer depends on the feed alone.
func lines(r *lookup.Reuse) (out []string) {
	for _, x := range r.RepeatOf {
		out = append(out, formatRepeat(x.Sentence, x.Group, x.Jaccard))
	}
	for _, x := range r.RepeatedBy {
		out = append(out, repeatedBy(x.Group, x.Jaccard,
			feed.Key{Time: x.Later.Time, Source: x.Later.Source, Post: x.Later.Post, Index: x.Later.Sentence}))
	}
	slices.Sort(out)
	return append(out, fmt.Sprint("total ", r.Total))
}

func formatRepeat(sentence int, group feed.Hash, jaccard float64) string {
	return fmt.Sprint("repeats ", sentence, group, jaccard)
}

func repeatedBy(group feed.Hash, jaccard float64, later feed.Key) string {
	return fmt.Sprint("repeated by ", group, jaccard, later)
}

// recompute makes the answers about all posts that the events name.
func recompute(matches []feed.Match) map[postID][]string {
	since := map[postID]map[feed.Hash]feed.Time{} // when a post joined a group
	join := func(source, post string, g feed.Hash, t feed.Time) {
		id := postID{source, post}
		if since[id] == nil {
			since[id] = map[feed.Hash]feed.Time{}
		}
		if at, ok := since[id][g]; !ok || t < at {
			since[id][g] = t
		}
	}
	out := map[postID][]string{}
	byGroup := map[feed.Hash][]*feed.Match{}
	for i := range matches {
		m := &matches[i]
		id := postID{m.Later.Source, m.Later.Post}
		out[id] = append(out[id], formatRepeat(m.Later.Sentence, m.Group, m.Jaccard))
		byGroup[m.Group] = append(byGroup[m.Group], m)
		join(m.Earlier.Source, m.Earlier.Post, m.Group, m.Earlier.Time)
		join(m.First.Source, m.First.Post, m.Group, m.First.Time)
		if m.Jaccard == 1 {
			join(id.source, id.post, m.Group, m.Later.Time)
		}
	}
	totals := map[postID]int{}
	for id, groups := range since {
		for g, t := range groups {
			asked := feed.Key{Time: t, Source: id.source, Post: id.post}
			for _, m := range byGroup[g] {
				if k := m.Later.Key(); !k.SamePost(asked) && k.Compare(asked) > 0 {
					out[id] = append(out[id], repeatedBy(g, m.Jaccard, k))
					totals[id]++
				}
			}
		}
		out[id] = slices.Clip(out[id]) // there also when nothing is to be said
	}
	for id := range out {
		slices.Sort(out[id])
		out[id] = append(out[id], fmt.Sprint("total ", totals[id]))
	}
	return out
}

// BenchmarkApply takes in the events of 200,000 real posts, 500 at a time, and says what one costs in the store.
func BenchmarkApply(b *testing.B) {
	all := changes(events(b, 200_000))
	for _, name := range []string{"bolt", "redis"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s, bytes := stores[name](b)
				before := bytes()
				b.StartTimer()
				applyAll(b, s, all)
				b.StopTimer()
				b.ReportMetric(float64(bytes()-before)/float64(len(all)), "B/event")
				s.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N*len(all))/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(len(all)), "events")
		})
	}
}

// BenchmarkReuse asks about posts of which something is known, one after the other, and says how long it took.
func BenchmarkReuse(b *testing.B) {
	matches := events(b, 200_000)
	posts := map[postID]bool{}
	for i := range matches {
		posts[postID{matches[i].Later.Source, matches[i].Later.Post}] = true
		posts[postID{matches[i].Earlier.Source, matches[i].Earlier.Post}] = true
	}
	ids := slices.SortedFunc(maps.Keys(posts), func(a, b postID) int { return cmp.Compare(a.post, b.post) })
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, name := range []string{"bolt", "redis"} {
		b.Run(name, func(b *testing.B) {
			s, _ := stores[name](b)
			defer s.Close()
			applyAll(b, s, changes(matches))
			var took []time.Duration
			i := 0
			for b.Loop() {
				began := time.Now()
				if _, err := s.Reuse(b.Context(), ids[i%len(ids)].source, ids[i%len(ids)].post, lookup.Page{Limit: 50}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
				i++
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// TestTheModelIsAStore: the store in memory passes its own suite.
func TestTheModelIsAStore(t *testing.T) {
	storetest.Run(t, func(_ testing.TB, now func() time.Time, retention time.Duration) lookup.Store {
		return storetest.NewMemory(now, retention)
	})
}

package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/dataset"
	"refrain/internal/migrate"
	"refrain/internal/oracle"
	"refrain/publish"
	"refrain/shard"
	"refrain/split"
	"refrain/text"
	"refrain/topic"
)

const span, lateness = 30 * 24 * time.Hour, 5 * time.Minute

// service is split and a worker on topics in memory.
type service struct {
	tb testing.TB
	migrate.Deployment
	split   *split.Split
	worker  *shard.Worker
	running sync.WaitGroup
	stop    context.CancelFunc
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

func newMemory(partitions int, ordered bool) *topic.Memory {
	cfg := topic.DefaultMemory()
	cfg.Partitions, cfg.Ordered = partitions, ordered
	return topic.NewMemory(cfg)
}

func newDeployment(partitions int, ordered bool) migrate.Deployment {
	return migrate.Deployment{Sentences: newMemory(partitions, ordered), Events: newMemory(1, ordered),
		Control: newMemory(1, ordered), Store: &topic.MemoryStore{}}
}

func start(tb testing.TB, on migrate.Deployment) *service {
	tb.Helper()
	s := &service{tb: tb, Deployment: on}
	writer := split.Default()
	writer.Sentences, writer.Control, writer.Lateness, writer.Logger = on.Sentences, on.Control, lateness, slog.New(slog.DiscardHandler)
	s.split = must(split.New(writer))(tb)
	cfg := shard.Default()
	cfg.Sentences, cfg.Events, cfg.Control, cfg.Store = on.Sentences, on.Events, on.Control, on.Store
	cfg.Owned = shard.Owners(on.Sentences.Partitions(), 1)[0]
	cfg.Span, cfg.Lateness, cfg.Poll, cfg.Commit = span, lateness, time.Millisecond, 0
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.Rows = func(int) (shard.Rows, error) {
		return detector.NewPartition(detector.Config{Threshold: text.DefaultThreshold, Span: span, Lateness: lateness,
			Model: must(hashcodes.NewMD5(64, 1))(tb), Engine: detector.Scan})
	}
	s.worker = must(shard.Open(tb.Context(), cfg))(tb)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.running.Go(func() {
		if err := s.worker.Run(ctx); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// feed writes posts and waits until they are looked up.
func (s *service) feed(posts []feed.Post) {
	s.tb.Helper()
	for batch := range slices.Chunk(slices.Clone(posts), 50) {
		if err := s.split.Write(s.tb.Context(), batch, "s"); err != nil {
			s.tb.Fatal(err)
		}
		s.split.Tick(s.tb.Context(), time.Now())
	}
	_, ends, err := s.Sentences.Bounds(s.tb.Context())
	if err == nil {
		err = s.worker.WaitFor(s.tb.Context(), ends)
	}
	if err != nil {
		s.tb.Fatal(err)
	}
}

func (s *service) end() {
	s.stop()
	s.running.Wait()
}

// matches are all events of the event topic in its order.
func (s *service) matches() (all []feed.Match) {
	s.tb.Helper()
	r := must(s.Events.(*topic.Memory).OpenMemory(s.tb.Context(), []int64{0}))(s.tb)
	for _, record := range must(r.TryFetch(1 << 30))(s.tb) {
		all = append(all, must(feed.DecodeEvent(record.Data))(s.tb))
	}
	return all
}

func ids(matches []feed.Match) (ids []feed.Hash) {
	for i := range matches {
		ids = append(ids, matches[i].ID)
	}
	return oracle.Sorted(ids)
}

func posts(tb testing.TB, n int) (all []feed.Post) {
	tb.Helper()
	r := must(oracle.Open(dataset.File(tb, "stream/ira_2012-02_2016-08.jsonl.zst")))(tb)
	defer r.Close()
	for p, err := range oracle.Posts(r, n) {
		all = append(all, must(p, err)(tb))
	}
	return all
}

// TestNothingIsLost feeds one service, copies its topics, and feeds the other: every event comes, and none twice.
func TestNothingIsLost(t *testing.T) {
	all := posts(t, 12_000)
	const first = 8000
	whole := start(t, newDeployment(4, true))
	whole.feed(all)
	whole.end()
	want := ids(whole.matches())
	isNew := map[string]bool{}
	for _, p := range all[first:] {
		isNew[p.ID] = true
	}
	for _, c := range []struct {
		from, to               int
		fromOrdered, toOrdered bool
	}{{4, 4, true, false}, {4, 7, true, false}, {3, 8, false, false}, {5, 2, false, true}, {2, 2, true, true}} {
		t.Run(fmt.Sprintf("%d to %d, ordered %v to %v", c.from, c.to, c.fromOrdered, c.toOrdered), func(t *testing.T) {
			before := start(t, newDeployment(c.from, c.fromOrdered))
			before.feed(all[:first])
			before.end()
			to := newDeployment(c.to, c.toOrdered)
			report := must(migrate.Run(t.Context(), migrate.Config{From: before.Deployment, To: to, Logger: slog.Default()}))(t)
			if !report.LookedUp || report.Sentences == 0 || report.Events == 0 {
				t.Errorf("copied %+v", report)
			}
			after := start(t, to)
			after.feed(all[first:])
			after.end()
			got := after.matches()
			if missing, extra := oracle.Diff(ids(got), want); len(missing)+len(extra) > 0 {
				t.Errorf("of %d events %d are missing, %d false", len(want), len(missing), len(extra))
			}
			for _, m := range got[report.Events:] {
				if !isNew[m.Later.Post] && !isNew[m.Earlier.Post] {
					t.Fatalf("%s repeats %s: reported again", m.Later.Post, m.Earlier.Post)
				}
			}
		})
	}
}

// TestUnfinishedIsLookedUpAgain: where the old workers have no states, or none of the end, events come again.
func TestUnfinishedIsLookedUpAgain(t *testing.T) {
	before := start(t, newDeployment(4, true))
	before.feed(posts(t, 4000))
	before.end()
	before.Store = &topic.MemoryStore{}
	to := newDeployment(6, false)
	report := must(migrate.Run(t.Context(), migrate.Config{From: before.Deployment, To: to, Logger: slog.Default()}))(t)
	if report.LookedUp {
		t.Error("nobody can know that all was looked up")
	}
	after := start(t, to)
	after.feed(nil)
	after.end()
	again, want := ids(after.matches()[report.Events:]), ids(before.matches())
	if missing, extra := oracle.Diff(again, want); len(want) == 0 || len(missing)+len(extra) > 0 {
		t.Errorf("of %d events %d do not come again, %d are false", len(want), len(missing), len(extra))
	}
}

func TestRefusals(t *testing.T) {
	before := start(t, newDeployment(2, true))
	before.feed(posts(t, 4000))
	before.end()
	full := newDeployment(2, true)
	if err := full.Control.Append(t.Context(), []topic.Record{{}}); err != nil {
		t.Fatal(err)
	}
	cfg := migrate.Config{From: before.Deployment, To: full, Sinks: []string{"slow"}, Logger: slog.Default()}
	if _, err := migrate.Run(t.Context(), cfg); !errors.Is(err, migrate.ErrNotEmpty) {
		t.Errorf("topics that hold something: %v", err)
	}
	cfg.To = newDeployment(2, true)
	if _, err := migrate.Run(t.Context(), cfg); err == nil {
		t.Error("a sink that has not been given its events was left behind")
	}
	if err := before.Store.Put(t.Context(), publish.Key("slow"), must(publish.EndCursor(t.Context(), before.Events))(t)); err != nil {
		t.Fatal(err)
	}
	must(migrate.Run(t.Context(), cfg))(t)
	cursor := must(cfg.To.Store.Get(t.Context(), publish.Key("slow")))(t)
	if n := must(publish.Pending(t.Context(), cfg.To.Events, cursor))(t); n != 0 {
		t.Errorf("the sink would be given %d events again", n)
	}
}

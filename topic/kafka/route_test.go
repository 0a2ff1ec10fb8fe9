package kafka_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
	"refrain/internal/devservers"
	"refrain/internal/sim"
	"refrain/shard"
	"refrain/split"
	"refrain/text"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/kafka"
)

// posts repeat each other often: a few sentences, now and then with another word.
func posts(n int) (out []feed.Post) {
	r := rand.New(rand.NewPCG(1, 2))
	begin := feed.FromTime(time.Now().Add(-30 * time.Minute))
	for i := range n {
		words := fmt.Sprintf("there are %d bottles of beer on the wall and %d of them are green tonight", r.IntN(20), r.IntN(3))
		out = append(out, feed.Post{ID: fmt.Sprint(i), Text: words, Timed: true,
			Time: begin.Add(time.Duration(r.IntN(int(20 * time.Minute))))})
	}
	return out
}

// topics are those of one route.
type topics struct {
	sentences, events, control topic.Topic
	store                      topic.Store
}

func inMemory() topics {
	one := func() *topic.Memory { return topic.NewMemory(topic.DefaultMemory()) }
	return topics{one(), one(), one(), &topic.MemoryStore{}}
}

func onKafka(t *testing.T, c *kafka.Cluster) topics {
	return topics{
		MustOpenTopic(t, c, func(c *kafka.TopicConfig) { c.Prompt, c.MaxAge = true, time.Hour }),
		MustOpenTopic(t, c), MustOpenTopic(t, c, func(c *kafka.TopicConfig) { c.Partitions, c.Compact = 1, true }),
		MustOpenStore(t, c),
	}
}

func (x *topics) worker(t *testing.T, owned ...int) *shard.Worker {
	t.Helper()
	cfg := shard.Default()
	cfg.Sentences, cfg.Events, cfg.Control, cfg.Store, cfg.Owned = x.sentences, x.events, x.control, x.store, owned
	cfg.Span, cfg.Lateness, cfg.Deployment = time.Hour, time.Hour, feed.Deployment{Name: "test"}
	cfg.Poll, cfg.Logger = 10*time.Millisecond, slog.New(slog.DiscardHandler)
	cfg.Rows = func(int) (shard.Rows, error) {
		return sim.NewBrute(text.DefaultThreshold, cfg.Span, cfg.Lateness, sim.RetainAll), nil
	}
	w, err := shard.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func (x *topics) write(t *testing.T, all []feed.Post) {
	t.Helper()
	cfg := split.Default()
	cfg.Sentences, cfg.Control, cfg.Lateness, cfg.Logger = x.sentences, x.control, time.Hour, slog.New(slog.DiscardHandler)
	s, err := split.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(all); i += 20 {
		if err := s.Write(t.Context(), all[i:i+20], "s"); err != nil {
			t.Fatal(err)
		}
	}
}

// found are the ids of the events that the topic has now.
func (x *topics) found(t *testing.T) map[feed.Hash]bool {
	t.Helper()
	start, end := conformance.MustBounds(t, x.events)
	n := 0
	for p := range end {
		n += int(end[p] - start[p])
	}
	ids := map[feed.Hash]bool{}
	if n == 0 {
		return ids
	}
	r, err := x.events.Open(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for n > 0 {
		records, err := r.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n -= len(records)
		for i := range records {
			e, err := feed.DecodeEvent(records[i].Data)
			if err != nil {
				t.Fatal(err)
			}
			ids[e.ID] = true
		}
	}
	return ids
}

// TestRoute: three workers, each with partitions of its own, find over Kafka what one finds in memory.
func TestRoute(t *testing.T) {
	clusters(t, func(t *testing.T, brokers []string) {
		all := posts(200)
		alone := inMemory()
		alone.write(t, all)
		w := alone.worker(t, 0)
		for range 20 {
			if err := w.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want := alone.found(t)
		if len(want) < 200 {
			t.Fatalf("only %d events: nothing is tried", len(want))
		}
		got := routeOnKafka(t, MustOpen(t, brokers), all, len(want))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d events, want %d: %s", len(got), len(want), diff)
		}
	})
}

// routeOnKafka writes the posts while three workers run, until there are so many events and nothing is left to be read.
func routeOnKafka(t *testing.T, c *kafka.Cluster, all []feed.Post, n int) map[feed.Hash]bool {
	t.Helper()
	x := onKafka(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var running sync.WaitGroup
	for q := range 3 {
		w := x.worker(t, q)
		running.Go(func() {
			if err := w.Run(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("worker %d: %v", q, err)
			}
		})
	}
	x.write(t, all)
	var got map[feed.Hash]bool
	for got = x.found(t); len(got) < n && ctx.Err() == nil; got = x.found(t) {
	}
	cancel()
	running.Wait() // they finish what they have in hand
	maps.Copy(got, x.found(t))
	return got
}

// TestTwoPutsOfOneState: the newer of two processes' states is the one that counts, for both.
func TestStoreIsShared(t *testing.T) {
	name := devservers.Name(t)
	addr := []string{devservers.Kafka(t)}
	a, errA := MustOpen(t, addr).OpenStore(t.Context(), name)
	b, errB := MustOpen(t, addr).OpenStore(t.Context(), name)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	for i := range 20 {
		of, other := a, b
		if i%2 == 1 {
			of, other = b, a
		}
		value := fmt.Append(nil, i)
		conformance.MustPut(t, of, "k", value)
		conformance.MustGet(t, other, "k", value)
		conformance.MustGet(t, of, "k", value)
	}
}

package publish_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/publish"
	"refrain/topic"
)

// outage is a sink that reads a topic which loses its end now and then, and whose cursor goes back too.
type outage struct {
	*rand.Rand
	tb      testing.TB
	memory  *topic.Memory
	topic   topic.Topic // the same, or a mutant
	cursors [][]byte    // as they were stored
	created int
	given   map[string]bool // to the sink, which forgets nothing
	final   bool            // this life reads everything, and does not crash
}

func (o *outage) config() publish.ReaderConfig {
	store := new(topic.MemoryStore)
	if n := len(o.cursors); n > 0 {
		if err := store.Put(context.Background(), publish.Key("sink"), o.cursors[n-1]); err != nil {
			o.tb.Fatal(err)
		}
	}
	return publish.ReaderConfig{Topic: o.topic, Store: store, Name: "sink", Logger: slog.New(slog.DiscardHandler)}
}

// life reads on from the stored cursor, until a crash; the final one reads to the end.
func (o *outage) life() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cfg := o.config()
	r, err := publish.OpenReader(ctx, cfg)
	if err != nil {
		o.tb.Fatal(err)
	}
	defer r.Close()
	for o.lag(ctx, r) > 0 && (o.final || o.IntN(6) > 0) {
		events, err := o.next(ctx, r)
		if err != nil {
			return
		}
		for _, e := range events {
			if o.final || o.IntN(4) > 0 {
				o.given[e.Post] = true
				r.Done(e)
			}
		}
		if err := r.Commit(ctx); err != nil {
			o.tb.Fatal(err)
		}
		written, err := cfg.Store.Get(ctx, publish.Key("sink"))
		if err != nil {
			o.tb.Fatal(err)
		}
		o.cursors = append(o.cursors, written)
	}
}

// next gives up soon where nothing may come: what was read and is not done counts as lag.
func (o *outage) next(ctx context.Context, r *publish.Reader) ([]publish.Event, error) {
	patience := time.Millisecond
	if o.final {
		patience = time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.Next(ctx)
}

func (o *outage) lag(ctx context.Context, r *publish.Reader) int64 {
	n, err := r.Lag(ctx)
	if err != nil {
		o.tb.Fatal(err)
	}
	return n
}

func (o *outage) append() {
	for range o.IntN(9) {
		o.created++
		r := topic.Record{Partition: o.IntN(o.memory.Partitions()), Data: event(fmt.Sprint("p", o.created))}
		if err := o.memory.Append(context.Background(), []topic.Record{r}); err != nil {
			o.tb.Fatal(err)
		}
	}
}

// cut leaves some of the topic, and some of the cursors.
func (o *outage) cut() {
	_, end, err := o.memory.Bounds(context.Background())
	if err != nil {
		o.tb.Fatal(err)
	}
	for p := range end {
		end[p] -= min(end[p], o.Int64N(9))
	}
	if o.memory.Ordered() {
		end = slices.Repeat([]int64{slices.Max(end)}, len(end))
	}
	o.memory.Cut(end)
	o.cursors = o.cursors[:len(o.cursors)-o.IntN(min(3, len(o.cursors)+1))]
}

// missed is how many of the events that the topic has in the end the sink was never given.
func missed(tb testing.TB, seed uint64, as func(*topic.Memory) topic.Topic) (n int) {
	r := rand.New(rand.NewPCG(seed, 0))
	o := &outage{
		Rand: r, tb: tb, memory: newMemory(topic.MemoryConfig{Partitions: 1 + r.IntN(3), Ordered: r.IntN(2) == 0,
			MaxFetch: 3}), given: map[string]bool{},
	}
	o.topic = as(o.memory)
	for range 8 {
		o.append()
		o.life()
		if o.IntN(2) == 0 {
			o.cut()
		}
	}
	o.append()
	o.final = true
	o.life()
	all, err := o.memory.OpenMemory(context.Background(), make([]int64, o.memory.Partitions()))
	if err != nil {
		tb.Fatal(err)
	}
	records, err := all.TryFetch(1000)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range records {
		if e := posted(records[i].Data); !o.given[e] {
			n++
		}
	}
	return n
}

// posted is the post of an event.
func posted(data []byte) string {
	for post := range 1000 {
		if name := fmt.Sprint("p", post); string(event(name)) == string(data) {
			return name
		}
	}
	return ""
}

// TestNothingMissedAfterPowerCuts: whatever the topic and the cursor lose, a sink is given all that the topic has.
func TestNothingMissedAfterPowerCuts(t *testing.T) {
	for seed := range uint64(300) {
		if n := missed(t, seed, func(m *topic.Memory) topic.Topic { return m }); n > 0 {
			t.Errorf("seed %d: %d events missed", seed, n)
		}
	}
}

// ageless is a topic that does not say that it has lost anything.
type ageless struct{ *topic.Memory }

func (ageless) Lineage() topic.Lineage { return topic.Lineage{{}} }

// TestWithoutIncarnationsEventsAreMissed: what the test above tests.
func TestWithoutIncarnationsEventsAreMissed(t *testing.T) {
	caught, first := 0, -1
	for seed := range 30 {
		if missed(t, uint64(seed), func(m *topic.Memory) topic.Topic { return ageless{m} }) > 0 {
			caught++
			if first < 0 {
				first = seed
			}
		}
	}
	if caught == 0 {
		t.Error("no event is missed")
	}
	t.Logf("caught by %d of 30 seeds, the first %d", caught, first)
}

// TestEventsAfterAPowerCut: a client comes back to a topic that has lost what it was sent last, and has grown past that.
func TestEventsAfterAPowerCut(t *testing.T) {
	for name, top := range topics() {
		t.Run(name, func(t *testing.T) {
			memory := top.(*topic.Memory)
			appendPosts(t, top, names(0, 9)...)
			events, url := serve(t, top)
			all, ids := connect(t, url+"?from=start&until=now").posts(t, 9)
			events.Close()
			_, end, err := memory.Bounds(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			cut := slices.Clone(end)
			for p := range cut {
				cut[p] = max(0, cut[p]-1)
			}
			if memory.Ordered() {
				cut = slices.Repeat([]int64{6}, len(end))
			}
			memory.Cut(cut)
			appendPosts(t, top, names(100, 120)...)
			_, url = serve(t, top)
			now, _ := connect(t, url+"?from=start&until=now").posts(t, -1)
			for i, id := range ids {
				rest, again := connect(t, url+"?until=now", "Last-Event-ID", id).posts(t, -1)
				had := map[string]bool{}
				for _, p := range append(slices.Clone(all[:i+1]), rest...) {
					had[p] = true
				}
				missing := slices.DeleteFunc(slices.Clone(now), func(p string) bool { return had[p] })
				if len(missing) > 0 {
					t.Errorf("behind %s: %v missing of %v", id, missing, now)
				}
				if last, _ := connect(t, url+"?until=now", "Last-Event-ID", again[len(again)-1]).posts(t, -1); len(last) > 0 {
					t.Errorf("behind %s, the last of the new incarnation: %v", again[len(again)-1], last)
				}
			}
		})
	}
}

// TestEventsOfAnotherIncarnation: an id of a topic that was made anew means nothing in this one.
func TestEventsOfAnotherIncarnation(t *testing.T) {
	top := topic.NewMemory(topic.DefaultMemory())
	appendPosts(t, top, names(0, 5)...)
	_, url := serve(t, top)
	if got, _ := connect(t, url+"?until=now", "Last-Event-ID", "2@ELSEWHERE").posts(t, -1); !cmp.Equal(got, names(0, 5)) {
		t.Errorf("events %v, want all", got)
	}
}

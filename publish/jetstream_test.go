package publish_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/publish"
	"refrain/topic"
	"refrain/topic/jetstream"
)

// TestEventsOfJetStream runs the stream over the topic of the default installation: resuming behind every event,
// and a quiet partition whose last event is old.
func TestEventsOfJetStream(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	quiet := slog.New(slog.DiscardHandler)
	storage := jetstream.Default()
	storage.Dir, storage.Logger = t.TempDir(), quiet
	server, err := jetstream.Start(storage)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	events := jetstream.DefaultTopic()
	events.Name, events.Partitions, events.Packed = "events", 3, true
	top, err := server.OpenTopic(t.Context(), events)
	if err != nil {
		t.Fatal(err)
	}
	_, url := serve(t, top, func(c *publish.EventsConfig) { c.Heartbeat = 100 * time.Millisecond })
	if got, _ := connect(t, url+"?from=start&until=now").posts(t, -1); len(got) != 0 {
		t.Errorf("events %v of an empty topic", got)
	}
	appendPosts(t, top, names(0, 8)...)
	appendPosts(t, top, "only in the first partition")
	all, ids := connect(t, url+"?from=start&until=now").posts(t, -1)
	if want := append(names(0, 8), "only in the first partition"); !cmp.Equal(slices.Sorted(slices.Values(all)),
		slices.Sorted(slices.Values(want))) {
		t.Fatalf("events %v", all)
	}
	for i, id := range ids {
		rest, _ := connect(t, url+"?until=now", "Last-Event-ID", id).posts(t, -1)
		if diff := cmp.Diff(all[i+1:], append([]string{}, rest...)); diff != "" {
			t.Errorf("resumed behind %s (-want +got):\n%s", id, diff)
		}
	}
	c := connect(t, url)
	if err := top.Append(t.Context(), []topic.Record{{Partition: 2, Data: event("new")}}); err != nil {
		t.Fatal(err)
	}
	if got, _ := c.posts(t, 1); got[0] != "new" {
		t.Errorf("live: %v", got)
	}
}

// TestFindRange: the events of a minute are among those of the range that is found for it, and few others; of what has been
// dropped it is an error that says from when there are events.
func TestFindRange(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	storage := jetstream.Default()
	storage.Dir, storage.Logger = t.TempDir(), slog.New(slog.DiscardHandler)
	server, err := jetstream.Start(storage)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() }) // nothing is to be kept
	for _, partitions := range []int{1, 3} {
		cfg := jetstream.DefaultTopic()
		cfg.Name, cfg.Partitions, cfg.Packed, cfg.Purged = fmt.Sprint("events", partitions), partitions, true, true
		top, err := server.OpenTopic(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		testFindRange(t, top)
	}
}

// partOf is the share of a topic that is in the range of a time. A reader fetches some of what comes behind, too.
func partOf(t *testing.T, top topic.Topic, from, to time.Time) float64 {
	t.Helper()
	r, err := publish.FindRange(t.Context(), top, from, to)
	start, end, errBounds := top.Bounds(t.Context())
	if err := errors.Join(err, errBounds); err != nil {
		t.Fatal(err)
	}
	return float64(slices.Max(r.Until)-slices.Min(r.From)) / float64(slices.Max(end)-slices.Min(start))
}

func testFindRange(t *testing.T, top topic.Topic) {
	begin := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	found := func(from, to time.Time) (times []time.Time, err error) {
		r, err := publish.FindRange(t.Context(), top, from, to)
		if err != nil {
			return nil, err
		}
		reader, err := publish.OpenReader(t.Context(), publish.ReaderConfig{
			Topic: top, Store: new(topic.MemoryStore), Name: "test", Range: r, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return nil, err
		}
		defer reader.Close()
		for {
			events, err := reader.Next(t.Context())
			if err == io.EOF {
				return times, nil
			}
			if err != nil {
				return nil, err
			}
			for _, e := range events {
				times = append(times, e.FoundAt)
			}
		}
	}
	if got, err := found(begin, begin.Add(time.Hour)); len(got) > 0 || err != nil {
		t.Errorf("%d events of an empty topic, %v", len(got), err)
	}
	for i := range 600 { // one a second, in messages of a different number
		r := topic.Record{Partition: i % top.Partitions(), Time: begin.Add(time.Duration(i) * time.Second), Data: event(fmt.Sprint(i))}
		if err := top.Append(t.Context(), []topic.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range []int{-3600, -1, 0, 1, 100, 299, 599, 600, 3600} {
		for _, length := range []int{1, 60, 3600} {
			from, to := begin.Add(time.Duration(from)*time.Second), begin.Add(time.Duration(from+length)*time.Second)
			got, err := found(from, to)
			if err != nil {
				t.Fatal(err)
			}
			in, want := 0, 0
			for _, at := range got {
				if !at.Before(from) && at.Before(to) {
					in++
				}
			}
			for i := range 600 {
				if at := begin.Add(time.Duration(i) * time.Second); !at.Before(from) && at.Before(to) {
					want++
				}
			}
			if in != want {
				t.Errorf("from %v to %v: %d events, %d of the time, want %d", from, to, len(got), in, want)
			}
			if part := partOf(t, top, from, to); part > float64(want+125)/600 { // a minute at both ends
				t.Errorf("from %v to %v: %.2f of the topic is in the range, for %d of 600 events", from, to, part, want)
			}
		}
	}
	_, end, err := top.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for p := range end {
		end[p] /= 2
	}
	if err := top.(topic.Purger).Purge(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	var gone *publish.ErrNotKept
	if _, err := found(begin, begin.Add(time.Hour)); !errors.As(err, &gone) || !gone.Oldest.After(begin) {
		t.Fatalf("half of it is gone: %v", err)
	}
	if got, err := found(gone.Oldest, begin.Add(time.Hour)); err != nil || len(got) < 250 || len(got) >= 350 {
		t.Errorf("from then on: %d events, %v", len(got), err)
	}
}

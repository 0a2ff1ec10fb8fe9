package publish_test

import (
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

// Package nats tests a server between two JetStream streams.
package nats

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"refrain/feed"
	"refrain/internal/devservers"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

// TestNATSToNATS: what a plain client reads behind refrain is what detect says of the file that it wrote.
func TestNATSToNATS(t *testing.T) {
	posts, n := e2e.EdgePosts(t)
	url := devservers.NATS(t)
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(1000))
	if err != nil {
		t.Fatal(err)
	}
	in, out := mustStream(t, js), mustStream(t, js)
	for _, line := range e2e.SplitLines(posts) {
		if _, err := js.PublishAsync(in+".all", line); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		t.Fatal("posts are not acknowledged")
	}
	p := e2e.New(t, e2e.WithYAML(t, natsConfig(url, in, out)))
	p.Start()
	p.Await(2*time.Minute, "all posts", func() bool {
		c, err := p.TryCounters()
		return err == nil && c["refrain_ingest_posts_total/accepted"] >= float64(n)
	})
	p.Events()
	p.Await(time.Minute, "events published", p.SinksAreDone)
	want := oracle.Sorted(e2e.Detect(t, posts, e2e.DefaultSettings(), nil))
	missing, extra := oracle.Diff(slices.Compact(oracle.Sorted(streamIDs(t, js, out))), want)
	if len(missing)+len(extra) > 0 {
		t.Fatalf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
	t.Logf("%d events equal", len(want))
}

func mustStream(t *testing.T, js jetstream.JetStream) (name string) {
	t.Helper()
	name = devservers.Name(t)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".*"}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = js.DeleteStream(context.Background(), name) })
	return name
}

func natsConfig(url, in, out string) string {
	return fmt.Sprintf("ingest: {nats: [{servers: [%q], stream: %s}]}\n"+
		"publish: {nats: [{name: reuse, servers: [%[1]q], subject: %[3]s.events}]}\n",
		url, in, out)
}

// streamIDs are the ids of all events in a stream.
func streamIDs(t *testing.T, js jetstream.JetStream, stream string) (ids []feed.Hash) {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for left := int(s.CachedInfo().State.Msgs); left > 0; left-- {
		m, err := c.Next(jetstream.FetchMaxWait(10 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if kind := m.Headers().Get("content-type"); !strings.HasPrefix(kind, "application/cloudevents+json") {
			t.Fatalf("content type %q", kind)
		}
		match, err := feed.DecodeEvent(m.Data())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, match.ID)
	}
	return ids
}

package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/api"
	"refrain/feed"
	"refrain/topic"
	"refrain/topic/jetstream"
)

func TestTailKeepsTheLatest(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		cfg := topic.DefaultMemory()
		cfg.Partitions, cfg.Ordered = 2, ordered
		top := topic.NewMemory(cfg)
		var records []topic.Record
		for i := range 20 {
			m := feed.Match{Later: feed.Occurrence{Post: fmt.Sprintf("%02d", i)}}
			records = append(records, topic.Record{Partition: i % 2, Data: m.AppendEvent(nil, "d")})
		}
		if err := top.Append(t.Context(), records); err != nil {
			t.Fatal(err)
		}
		tail := api.NewTail(top, 4)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- tail.Run(ctx) }()
		deadline := time.Now().Add(10 * time.Second)
		for len(tail.Latest(9)) < 4 && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		cancel()
		<-ended
		var got []string
		for _, m := range tail.Latest(9) {
			got = append(got, m.Later.Post)
		}
		slices.Sort(got)
		if len(got) != 4 || got[0] < "12" {
			t.Errorf("ordered %v: latest %v", ordered, got)
		}
	}
}

func TestTailTakesRetractedPostsAway(t *testing.T) {
	top := topic.NewMemory(topic.DefaultMemory())
	event := func(later, earlier, first string) topic.Record {
		m := feed.Match{Later: feed.Occurrence{Post: later}, Earlier: feed.Occurrence{Post: earlier}, First: feed.First{Post: first}}
		return topic.Record{Data: m.AppendEvent(nil, "d")}
	}
	said := func(later, earlier, first string) topic.Record {
		m := feed.Match{Later: feed.Occurrence{Post: "of " + later, Author: later}, Earlier: feed.Occurrence{Post: "e", Author: earlier},
			First: feed.First{Post: "f", Author: first}}
		return topic.Record{Data: m.AppendEvent(nil, "d")}
	}
	author := `{"specversion":"1.0","type":"dev.refrain.retracted.v1","data":{"source":"","author":"ann"}}`
	retracted := `{"specversion":"1.0","type":"dev.refrain.retracted.v1","data":{"source":"","post":"gone"}}`
	err := top.Append(t.Context(), []topic.Record{
		event("gone", "a", "a"), event("b", "gone", "a"), event("c", "a", "gone"), event("d", "a", "a"),
		said("ann", "bob", "cid"), said("bob", "ann", "cid"), said("bob", "cid", "ann"), said("bob", "cid", "dan"), {Data: []byte(author)},
		{Data: []byte(retracted)}, {Data: []byte(`{"type":"dev.refrain.other.v1"}`)}, event("last", "a", "a"),
	})
	if err != nil {
		t.Fatal(err)
	}
	tail := api.NewTail(top, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- tail.Run(ctx) }()
	deadline := time.Now().Add(10 * time.Second)
	for len(tail.Latest(1)) == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
	var got []string
	for _, m := range tail.Latest(10) {
		got = append(got, m.Later.Post)
	}
	if diff := cmp.Diff([]string{"last", "of bob", "d"}, got); diff != "" {
		t.Errorf("latest (-want +got):\n%s", diff)
	}
}

// TestTailOfAPackedTopic: events that came one by one lie 32 positions apart, and the page shows as many of them.
func TestTailOfAPackedTopic(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	storage := jetstream.Default()
	storage.Dir, storage.Logger = t.TempDir(), quiet
	server, err := jetstream.Start(storage)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	events := jetstream.DefaultTopic()
	events.Name, events.Packed = "events", true
	top, err := server.OpenTopic(t.Context(), events)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		m := feed.Match{Later: feed.Occurrence{Post: fmt.Sprint(i)}}
		if err := top.Append(t.Context(), []topic.Record{{Data: m.AppendEvent(nil, "d")}}); err != nil {
			t.Fatal(err)
		}
	}
	tail := api.NewTail(top, 20)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- tail.Run(ctx) }()
	deadline := time.Now().Add(10 * time.Second)
	for n := 0; n < 20; n = len(tail.Latest(100)) {
		if time.Now().After(deadline) {
			t.Errorf("%d events on the page, want 20", n)
			break
		}
		runtime.Gosched()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

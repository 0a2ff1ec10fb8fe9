package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/api"
	"refrain/feed"
	"refrain/topic"
	"refrain/topic/jetstream"
)

// mustTail runs a tail of a topic until it has got somewhere.
func mustTail(t *testing.T, top topic.Topic, size int, done func(*api.Tail) bool) *api.Tail {
	t.Helper()
	tail := api.NewTail(top, size)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- tail.Run(ctx) }()
	for deadline := time.Now().Add(time.Minute); !done(tail); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("the tail has not got to the end of the topic")
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return tail
}

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
		tail := mustTail(t, top, 4, func(tail *api.Tail) bool { return len(tail.Latest(9)) >= 4 })
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
		m := feed.Match{
			Later: feed.Occurrence{Post: later}, Earlier: feed.Occurrence{Post: earlier}, First: feed.First{Post: first},
		}
		return topic.Record{Data: m.AppendEvent(nil, "d")}
	}
	byAuthors := func(later, earlier, first string) topic.Record {
		m := feed.Match{Later: feed.Occurrence{Post: "of " + later, Author: later},
			Earlier: feed.Occurrence{Post: "e", Author: earlier},
			First:   feed.First{Post: "f", Author: first}}
		return topic.Record{Data: m.AppendEvent(nil, "d")}
	}
	author := `{"specversion":"1.0","type":"dev.refrain.retracted.v1","data":{"source":"","author":"ann"}}`
	retracted := `{"specversion":"1.0","type":"dev.refrain.retracted.v1","data":{"source":"","post":"gone"}}`
	err := top.Append(t.Context(), []topic.Record{
		event("gone", "a", "a"), event("b", "gone", "a"), event("c", "a", "gone"), event("d", "a", "a"),
		byAuthors("ann", "bob", "cid"), byAuthors("bob", "ann", "cid"), byAuthors("bob", "cid", "ann"),
		byAuthors("bob", "cid", "dan"), {Data: []byte(author)},
		{Data: []byte(retracted)}, {Data: []byte(`{"type":"dev.refrain.other.v1"}`)}, event("last", "a", "a"),
	})
	if err != nil {
		t.Fatal(err)
	}
	tail := mustTail(t, top, 10, func(tail *api.Tail) bool { return len(tail.Latest(1)) > 0 })
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
	tail := mustTail(t, top, 20, func(tail *api.Tail) bool { return len(tail.Latest(100)) >= 20 })
	if n := len(tail.Latest(100)); n != 20 {
		t.Errorf("%d events on the page, want 20", n)
	}
}

// TestTailIsBoundedByBytes: of events whose names take a hundred kilobytes in JSON it keeps as many as 8 MiB hold, the
// newest.
func TestTailIsBoundedByBytes(t *testing.T) {
	const events, size = 200, 100_000
	top := topic.NewMemory(topic.DefaultMemory())
	var records []topic.Record
	for i := range events {
		m := feed.Match{Later: feed.Occurrence{Post: fmt.Sprintf("%03d", i), Text: strings.Repeat("\x01", size/6)}}
		records = append(records, topic.Record{Data: m.AppendEvent(nil, "d")})
	}
	if err := top.Append(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	tail := mustTail(t, top, events, func(tail *api.Tail) bool { return len(tail.Latest(1)) > 0 })
	got := tail.Latest(events)
	if n := len(got); n == 0 || n > 8<<20/size || got[0].Later.Post != fmt.Sprintf("%03d", events-1) {
		t.Errorf("%d events kept of %d of %d bytes: want the newest, 8 MiB of them at most", n, events, size)
	}
}

// TestTailReadsAnEventOnceForAllDeletions: whoever deletes posts one after the other, which nobody has, does not have
// all the events of the page read anew for each: 500 × 2,000 of them took 60 % of a server's time.
func TestTailReadsAnEventOnceForAllDeletions(t *testing.T) {
	const events, deletions = 500, 2000
	var records []topic.Record
	for i := range events {
		m := feed.Match{
			Later: feed.Occurrence{Post: fmt.Sprint("later", i)}, Earlier: feed.Occurrence{Post: "e"}, First: feed.First{Post: "f"},
		}
		records = append(records, topic.Record{Data: m.AppendEvent(nil, "d")})
	}
	for i := range deletions {
		gone := fmt.Sprintf(`{"specversion":"1.0","type":"dev.refrain.retracted.v1","data":{"source":"","post":"nobody's %d"}}`, i)
		records = append(records, topic.Record{Data: []byte(gone)})
	}
	last := `{"specversion":"1.0","type":"dev.refrain.retracted.v1","data":{"source":"","post":"later499"}}`
	top := topic.NewMemory(topic.DefaultMemory())
	if err := top.Append(t.Context(), append(records, topic.Record{Data: []byte(last)})); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tail := mustTail(t, top, events, func(tail *api.Tail) bool {
		latest := tail.Latest(1)
		return len(latest) == 1 && latest[0].Later.Post == "later498"
	})
	runtime.ReadMemStats(&after)
	if n := len(tail.Latest(events)); n != events-1 {
		t.Errorf("%d events are left, want %d", n, events-1)
	}
	if n := after.Mallocs - before.Mallocs; n > events*deletions {
		t.Errorf("%d allocations for %d deletions and %d events", n, deletions, events)
	}
}

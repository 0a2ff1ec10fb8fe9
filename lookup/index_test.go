package lookup_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"refrain/feed"
	"refrain/lookup"
	"refrain/lookup/storetest"
)

func mustIndex(t *testing.T, s lookup.Store, deleted func(feed.Name, time.Time) bool) *lookup.Index {
	t.Helper()
	x, err := lookup.NewIndex(lookup.IndexConfig{Store: s, Deleted: deleted, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func memory() *storetest.Memory {
	return storetest.NewMemory(storetest.NewClock().Now, storetest.Retention)
}

var group = feed.GroupHash([]uint64{7})

// reported is p2 repeating p1 whole, and at://p3 nearly.
func reported() []lookup.Event {
	p1 := feed.Occurrence{Post: "p1", Time: 1767323045000, Author: "ann", Sentence: 1, Text: "the words"}
	p2 := feed.Occurrence{Post: "p2", Time: 1767323046000, Author: "bob", Text: "The words!"}
	p3 := feed.Occurrence{Source: "s", Post: "at://p3", Time: 1767323047500, Author: "bob", Sentence: 2, Text: "words"}
	return eventsOf(
		storetest.Match(p2, p1, group, 1).AppendEvent(nil, "d"),
		storetest.Match(p3, p1, group, 6.0/7).AppendEvent(nil, "d"),
		[]byte(`{"type":"dev.refrain.other.v1"}`),
	)
}

// eventsOf makes events of their bytes.
func eventsOf(all ...[]byte) (events []lookup.Event) {
	for _, data := range all {
		events = append(events, lookup.Event{Data: data, FoundAt: time.UnixMilli(1767323050000)})
	}
	return events
}

func retraction(post string) []byte {
	return fmt.Appendf(nil, `{"specversion":"1.0","type":"dev.refrain.retracted.v1","id":"r",`+
		`"data":{"source":"","post":%q}}`, post)
}

// away is a store that fails.
type away struct {
	*storetest.Memory
	err error
}

func (a away) Apply(context.Context, []lookup.Change) error { return a.err }

func TestStoreAway(t *testing.T) {
	for _, want := range []error{lookup.ErrUnavailable, lookup.ErrRewound} {
		x := mustIndex(t, away{memory(), fmt.Errorf("redis: %w", want)}, nil)
		if err := x.Publish(t.Context(), reported()); !errors.Is(err, want) {
			t.Errorf("publish: %v, want %v", err, want)
		}
	}
}

// TestIncompleteIndex: an index that lacks something says so whatever it is asked.
func TestIncompleteIndex(t *testing.T) {
	x := mustIndex(t, memory(), nil)
	for _, want := range []error{lookup.ErrIncomplete, nil} {
		x.Incomplete(want != nil)
		_, reuse := x.Reuse(t.Context(), "", "p1", lookup.Page{})
		_, _, text := x.Text(t.Context(), group, lookup.Page{})
		_, author := x.Author(t.Context(), "", "bob", 1)
		for _, got := range []error{x.CheckComplete(), reuse, text, author} {
			if !errors.Is(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		}
	}
}

// TestDeletedPosts: what the store no longer knows to be deleted, the index may.
func TestDeletedPosts(t *testing.T) {
	s := memory()
	x := mustIndex(t, s, func(n feed.Name, _ time.Time) bool { return n.Post == "p1" })
	if err := x.Publish(t.Context(), reported()); err != nil {
		t.Fatal(err)
	}
	r, err := s.Reuse(t.Context(), "", "p2", lookup.Page{Limit: 5})
	if err != nil || len(r.RepeatOf) != 1 || r.RepeatOf[0].Earlier != nil || r.RepeatOf[0].Text != "The words!" {
		t.Errorf("a copy of a deleted post: %+v, %v", r, err)
	}
	if err := x.Publish(t.Context(), eventsOf(retraction("p2"))); err != nil {
		t.Fatal(err)
	}
	for _, post := range []string{"p1", "p2"} {
		if _, err := x.Reuse(t.Context(), "", post, lookup.Page{Limit: 5}); !errors.Is(err, lookup.ErrDeleted) {
			t.Errorf("deleted post %s: %v", post, err)
		}
	}
}

// TestHiddenBeforeTheirRetraction: events may wait by the hundred thousand before the retraction of a post. Answers do not show
// it meanwhile.
func TestHiddenBeforeTheirRetraction(t *testing.T) {
	gone := map[string]bool{}
	x := mustIndex(t, memory(), func(n feed.Name, _ time.Time) bool { return gone[n.Post] || gone[n.Author] })
	if err := x.Publish(t.Context(), reported()); err != nil {
		t.Fatal(err)
	}
	shown := func() (all []string) {
		t.Helper()
		p1, err1 := x.Reuse(t.Context(), "", "p1", lookup.Page{Limit: 5})
		p3, err2 := x.Reuse(t.Context(), "s", "at://p3", lookup.Page{Limit: 5})
		text, _, err3 := x.Text(t.Context(), group, lookup.Page{Limit: 5})
		bob, err4 := x.Author(t.Context(), "", "bob", 5)
		if err := errors.Join(err1, err2, err3, err4); err != nil && !errors.Is(err, lookup.ErrDeleted) {
			t.Fatal(err)
		}
		for _, by := range [][]lookup.RepeatedBy{p1.RepeatedBy, text.RepeatedBy, bob} {
			for _, r := range by {
				all = append(all, r.Later.Post)
			}
		}
		for _, of := range p3.RepeatOf {
			if of.Earlier != nil {
				all = append(all, of.Earlier.Post)
			}
		}
		if text.First != nil {
			all = append(all, text.First.Post)
		}
		if len(p1.RepeatedBy) != p1.Total || len(text.RepeatedBy) != text.Total {
			t.Errorf("totals %d of %+v, %d of %+v", p1.Total, p1.RepeatedBy, text.Total, text.RepeatedBy)
		}
		return all
	}
	if all := shown(); !slices.Contains(all, "p1") || !slices.Contains(all, "p2") {
		t.Fatalf("before: %v", all)
	}
	for _, name := range []string{"p2", "p1"} {
		gone[name] = true
		if all := shown(); slices.Contains(all, name) {
			t.Errorf("%s is deleted, and shown: %v", name, all)
		}
	}
	gone["bob"] = true
	if all := shown(); len(all) > 0 {
		t.Errorf("all are deleted, and shown: %v", all)
	}
}

func TestEventsAreCounted(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	defer otel.SetMeterProvider(noop.NewMeterProvider())
	x := mustIndex(t, memory(), func(n feed.Name, _ time.Time) bool { return n.Post == "gone" })
	if diff := cmp.Diff(map[string]int64{"applied": 0, "retracted": 0, "deleted": 0, "ignored": 0, "rejected": 0},
		collect(t, reader)); diff != "" {
		t.Errorf("at the start (-want +got):\n%s", diff)
	}
	gone := storetest.Match(feed.Occurrence{Post: "gone"}, feed.Occurrence{Post: "a"}, group, 1).AppendEvent(nil, "d")
	long := storetest.Match(feed.Occurrence{Post: strings.Repeat("x", lookup.MaxName+1)}, feed.Occurrence{Post: "a"},
		group, 1).AppendEvent(nil, "d")
	events := append(reported(), eventsOf(gone, long, retraction("p1"), retraction(strings.Repeat("x", 2000)),
		[]byte("{"), []byte(`{"type":"dev.refrain.reuse.v1"}`))...)
	if err := x.Publish(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"applied": 2, "retracted": 1, "deleted": 1, "ignored": 1, "rejected": 4},
		collect(t, reader)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func collect(t *testing.T, reader sdkmetric.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok || m.Name != "refrain_lookup_events" {
				continue
			}
			for _, p := range sum.DataPoints {
				result, _ := p.Attributes.Value("result")
				got[result.AsString()] = p.Value
			}
		}
	}
	return got
}

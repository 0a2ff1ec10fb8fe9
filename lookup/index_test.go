package lookup_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"refrain/feed"
	"refrain/lookup"
	"refrain/lookup/storetest"
)

func mustIndex(t *testing.T, s lookup.Store, deleted func(source, post string) bool) (*lookup.Index, http.Handler) {
	t.Helper()
	x, err := lookup.NewIndex(lookup.IndexConfig{Store: s, Deleted: deleted, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/posts/{id}/reuse", x.ServeReuse)
	mux.HandleFunc("GET /v1/texts/{group}", x.ServeText)
	mux.HandleFunc("GET /v1/authors/{author}/reuse", x.ServeAuthor)
	return x, mux
}

func memory() *storetest.Memory {
	return storetest.NewMemory(storetest.NewClock().Now, storetest.Retention)
}

var group = feed.GroupHash([]uint64{7})

// reported is p2 repeating p1 whole, and at://p3 nearly.
func reported() [][]byte {
	p1 := feed.Occurrence{Post: "p1", Time: 1767323045000, Author: "ann", Sentence: 1, Text: "the words"}
	p2 := feed.Occurrence{Post: "p2", Time: 1767323046000, Author: "bob", Text: "The words!"}
	p3 := feed.Occurrence{Source: "s", Post: "at://p3", Time: 1767323047500, Author: "bob", Sentence: 2, Text: "words"}
	return [][]byte{
		storetest.Match(p2, p1, group, 1).AppendEvent(nil, "d"),
		storetest.Match(p3, p1, group, 6.0/7).AppendEvent(nil, "d"),
		[]byte(`{"type":"dev.refrain.other.v1"}`),
	}
}

func retraction(post string) []byte {
	return fmt.Appendf(nil, `{"specversion":"1.0","type":"dev.refrain.retracted.v1","id":"r","data":{"source":"","post":%q}}`, post)
}

func TestAnswers(t *testing.T) {
	x, h := mustIndex(t, memory(), nil)
	if err := x.Publish(t.Context(), reported()); err != nil {
		t.Fatal(err)
	}
	g := group.String()
	for target, want := range map[string]string{
		"/v1/posts/p1/reuse": `{"source":"","post":"p1","repeats":[],"repeatedBy":[
			{"sentence":2,"group":"G","jaccard":0.8571428571428571,"later":{"source":"s","post":"at://p3","sentence":2,"time":"2026-01-02T03:04:07.5Z"}},
			{"sentence":0,"group":"G","jaccard":1,"later":{"source":"","post":"p2","sentence":0,"time":"2026-01-02T03:04:06Z"}}],"repeatedByTotal":2}`,
		"/v1/posts/at:%2F%2Fp3/reuse?source=s": `{"source":"s","post":"at://p3","repeats":[
			{"sentence":2,"group":"G","jaccard":0.8571428571428571,"identical":false,"earlier":{"source":"","post":"p1","sentence":1,"time":"2026-01-02T03:04:05Z"},"text":"the words"}],
			"repeatedBy":[],"repeatedByTotal":0}`,
		"/v1/posts/unheard/reuse":    `{"source":"","post":"unheard","repeats":[],"repeatedBy":[],"repeatedByTotal":0}`,
		"/v1/posts/p1/reuse?limit=0": `{"source":"","post":"p1","repeats":[],"repeatedBy":[],"repeatedByTotal":2}`,
		"/v1/posts/p1/reuse?limit=1&after=1": `{"source":"","post":"p1","repeats":[],"repeatedBy":[
			{"sentence":0,"group":"G","jaccard":1,"later":{"source":"","post":"p2","sentence":0,"time":"2026-01-02T03:04:06Z"}}],"repeatedByTotal":2}`,
		"/v1/texts/" + g + "?limit=1": `{"group":"G","text":"the words","first":{"source":"","post":"p1","time":"2026-01-02T03:04:05Z"},"last":"2026-01-02T03:04:07.5Z",
			"occurrences":2,"authors":1,"authorsEstimated":false,"repeatedBy":[
			{"sentence":2,"group":"G","jaccard":0.8571428571428571,"later":{"source":"s","post":"at://p3","sentence":2,"time":"2026-01-02T03:04:07.5Z"}}],"repeatedByTotal":2,"next":"1"}`,
		"/v1/authors/bob/reuse": `{"source":"","author":"bob","reuse":[
			{"sentence":0,"group":"G","jaccard":1,"later":{"source":"","post":"p2","sentence":0,"time":"2026-01-02T03:04:06Z"},"text":"the words"}]}`,
	} {
		w := ask(h, "GET", target, "")
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
			continue
		}
		if diff := cmp.Diff(plain(t, strings.ReplaceAll(want, `"G"`, `"`+g+`"`)), plain(t, w.Body.String())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", target, diff)
		}
	}
}

// plain reads JSON without the events' ids, each of which must be one.
func plain(t *testing.T, s string) any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	for _, list := range []string{"repeats", "repeatedBy", "reuse"} {
		entries, _ := v[list].([]any)
		for _, e := range entries {
			e := e.(map[string]any)
			if id, ok := e["event"].(string); ok {
				if _, err := feed.ParseHash(id); err != nil {
					t.Error(err)
				}
				delete(e, "event")
			}
		}
	}
	return v
}

func TestQuestionsThatAreNotUnderstood(t *testing.T) {
	_, h := mustIndex(t, memory(), nil)
	for target, status := range map[string]int{
		"/v1/posts/p/reuse?limit=x": 400, "/v1/posts/p/reuse?limit=-1": 400, "/v1/posts/p/reuse?limit=1001": 400,
		"/v1/texts/xyz": 400, "/v1/texts/" + group.String() + "?limit=1e3": 400, "/v1/texts/" + group.String(): 404,
		"/v1/authors/a/reuse?limit=101": 400,
	} {
		if detail(t, ask(h, "GET", target, ""), status) == "" {
			t.Errorf("%s: no detail", target)
		}
	}
}

// away is a store that fails.
type away struct {
	*storetest.Memory
	err error
}

func (a away) Reuse(context.Context, string, string, lookup.Page) (lookup.Reuse, error) {
	return lookup.Reuse{}, a.err
}
func (a away) Text(context.Context, feed.Hash, lookup.Page) (lookup.Text, bool, error) {
	return lookup.Text{}, false, a.err
}
func (a away) Author(context.Context, string, string, int) ([]lookup.Repetition, error) {
	return nil, a.err
}
func (a away) Apply(context.Context, []lookup.Change) error { return a.err }

func TestStoreAway(t *testing.T) {
	x, h := mustIndex(t, away{memory(), fmt.Errorf("redis: %w: secret", lookup.ErrUnavailable)}, nil)
	for _, target := range []string{"/v1/posts/p/reuse", "/v1/texts/" + group.String(), "/v1/authors/a/reuse"} {
		w := ask(h, "GET", target, "")
		if got := detail(t, w, 503); strings.Contains(got, "secret") || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %q, Retry-After %q", target, got, w.Header().Get("Retry-After"))
		}
	}
	if err := x.Publish(t.Context(), reported()); !errors.Is(err, lookup.ErrUnavailable) {
		t.Errorf("publish: %v", err)
	}
	x, h = mustIndex(t, away{memory(), fmt.Errorf("read: %w", lookup.ErrRewound)}, nil)
	detail(t, ask(h, "GET", "/v1/posts/p/reuse", ""), 500)
	if err := x.Publish(t.Context(), reported()); !errors.Is(err, lookup.ErrRewound) {
		t.Errorf("publish: %v", err)
	}
}

// TestDeletedPosts: what the store no longer knows to be deleted, the index may.
func TestDeletedPosts(t *testing.T) {
	s := memory()
	x, _ := mustIndex(t, s, func(_, post string) bool { return post == "p1" })
	if err := x.Publish(t.Context(), reported()); err != nil {
		t.Fatal(err)
	}
	r, err := s.Reuse(t.Context(), "", "p2", lookup.Page{Limit: 5})
	if err != nil || len(r.Repeats) != 1 || r.Repeats[0].Earlier != nil || r.Repeats[0].Text != "The words!" {
		t.Errorf("a copy of a deleted post: %+v, %v", r, err)
	}
	if err := x.Publish(t.Context(), [][]byte{retraction("p2")}); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Reuse(t.Context(), "", "p2", lookup.Page{Limit: 5}); err != nil || len(r.Repeats) > 0 {
		t.Errorf("a retracted post: %+v, %v", r, err)
	}
}

func TestEventsAreCounted(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	defer otel.SetMeterProvider(noop.NewMeterProvider())
	x, _ := mustIndex(t, memory(), func(_, post string) bool { return post == "gone" })
	if diff := cmp.Diff(map[string]int64{"applied": 0, "retracted": 0, "deleted": 0, "ignored": 0, "rejected": 0}, collect(t, reader)); diff != "" {
		t.Errorf("at the start (-want +got):\n%s", diff)
	}
	gone := storetest.Match(feed.Occurrence{Post: "gone"}, feed.Occurrence{Post: "a"}, group, 1).AppendEvent(nil, "d")
	long := storetest.Match(feed.Occurrence{Post: strings.Repeat("x", lookup.MaxName+1)}, feed.Occurrence{Post: "a"}, group, 1).AppendEvent(nil, "d")
	events := append(reported(), gone, long, retraction("p1"), retraction(strings.Repeat("x", 2000)), []byte("{"), []byte(`{"type":"dev.refrain.reuse.v1"}`))
	if err := x.Publish(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"applied": 2, "retracted": 1, "deleted": 1, "ignored": 1, "rejected": 4}, collect(t, reader)); diff != "" {
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

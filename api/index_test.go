package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
	"refrain/lookup"
	"refrain/lookup/storetest"
)

// newIndex is an index of a store.
func newIndex(s lookup.Store) *lookup.Index {
	x, err := lookup.NewIndex(lookup.IndexConfig{Store: s, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	return x
}

// mustIndex returns an index, and an API that answers from it.
func mustIndex(t *testing.T, s lookup.Store) (*lookup.Index, http.Handler) {
	t.Helper()
	cfg := config()
	cfg.Index = newIndex(s)
	return cfg.Index, mustNew(t, cfg)
}

func memory() *storetest.Memory {
	return storetest.NewMemory(storetest.NewClock().Now, storetest.Retention)
}

var group = feed.GroupHash([]uint64{7})

// reported is p2 repeating p1 whole, and at://p3 nearly.
func reported() (events []lookup.Event) {
	p1 := feed.Occurrence{Post: "p1", Time: 1767323045000, Author: "ann", Sentence: 1, Text: "the words"}
	p2 := feed.Occurrence{Post: "p2", Time: 1767323046000, Author: "bob", Text: "The words!"}
	p3 := feed.Occurrence{Source: "s", Post: "at://p3", Time: 1767323047500, Author: "bob", Sentence: 2, Text: "words"}
	for _, m := range []*feed.Match{storetest.Match(p2, p1, group, 1), storetest.Match(p3, p1, group, 6.0/7)} {
		events = append(events, lookup.Event{Data: m.AppendEvent(nil, "d"), FoundAt: time.UnixMilli(1767323050000)})
	}
	return events
}

func TestAnswers(t *testing.T) {
	x, h := mustIndex(t, memory())
	if err := x.Publish(t.Context(), reported()); err != nil {
		t.Fatal(err)
	}
	g := group.String()
	for target, want := range map[string]string{
		"/v1/posts/p1/reuse": `{"source":"","post":"p1","repeats":[],"repeatedBy":[
			{"sentence":2,"group":"G","jaccard":0.8571428571428571,"later":{"source":"s","post":"at://p3","author":"bob","sentence":2,"time":"2026-01-02T03:04:07.5Z"}},
			{"sentence":0,"group":"G","jaccard":1,"later":{"source":"","post":"p2","author":"bob","sentence":0,"time":"2026-01-02T03:04:06Z"}}],"repeatedByTotal":2}`,
		"/v1/posts/at:%2F%2Fp3/reuse?source=s": `{"source":"s","post":"at://p3","repeats":[
			{"sentence":2,"group":"G","jaccard":0.8571428571428571,"identical":false,"earlier":{"source":"","post":"p1","author":"ann","sentence":1,"time":"2026-01-02T03:04:05Z"},"text":"the words"}],
			"repeatedBy":[],"repeatedByTotal":0}`,
		"/v1/posts/unheard/reuse":    `{"source":"","post":"unheard","repeats":[],"repeatedBy":[],"repeatedByTotal":0}`,
		"/v1/posts/p1/reuse?limit=0": `{"source":"","post":"p1","repeats":[],"repeatedBy":[],"repeatedByTotal":2}`,
		"/v1/posts/p1/reuse?limit=1&after=1": `{"source":"","post":"p1","repeats":[],"repeatedBy":[
			{"sentence":0,"group":"G","jaccard":1,"later":{"source":"","post":"p2","author":"bob","sentence":0,"time":"2026-01-02T03:04:06Z"}}],"repeatedByTotal":2}`,
		"/v1/texts/" + g + "?limit=1": `{"group":"G","text":"the words","first":{"source":"","post":"p1","time":"2026-01-02T03:04:05Z"},"last":"2026-01-02T03:04:07.5Z",
			"occurrences":2,"authors":1,"authorsEstimated":false,"repeatedBy":[
			{"sentence":2,"group":"G","jaccard":0.8571428571428571,"later":{"source":"s","post":"at://p3","author":"bob","sentence":2,"time":"2026-01-02T03:04:07.5Z"}}],"repeatedByTotal":2,"next":"1"}`,
		"/v1/authors/bob/reuse": `{"source":"","author":"bob","reuse":[
			{"sentence":0,"group":"G","jaccard":1,"later":{"source":"","post":"p2","author":"bob","sentence":0,"time":"2026-01-02T03:04:06Z"},"text":"the words"}]}`,
	} {
		w := serve(h, "GET", target, "")
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
			continue
		}
		if diff := cmp.Diff(plain(t, strings.ReplaceAll(want, `"G"`, `"`+g+`"`)), plain(t, w.Body.String())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", target, diff)
		}
	}
}

// TestAnswersByMeasure: where another similarity decided, answers have it beside Jaccard, as the event has.
func TestAnswersByMeasure(t *testing.T) {
	x, h := mustIndex(t, memory())
	later := feed.Occurrence{Post: "p2", Time: 1767323046000, Author: "bob", Text: "the words too"}
	m := storetest.Match(later, feed.Occurrence{Post: "p1", Time: 1767323045000, Text: "the words"}, group, 2.0/3)
	m.Measure, m.Similarity = "cosine", 0.816
	if err := x.Publish(t.Context(), []lookup.Event{{Data: m.AppendEvent(nil, "d"), FoundAt: time.UnixMilli(1767323050000)}}); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"/v1/posts/p1/reuse", "/v1/posts/p2/reuse", "/v1/texts/" + group.String(), "/v1/authors/bob/reuse"} {
		want := `"jaccard":0.6666666666666666,"measure":"cosine","similarity":0.816,`
		if w := serve(h, "GET", target, ""); w.Code != 200 || strings.Count(w.Body.String(), want) != 1 {
			t.Errorf("%s: want %s in %d %s", target, want, w.Code, w.Body)
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
	_, h := mustIndex(t, memory())
	for target, status := range map[string]int{
		"/v1/posts/p/reuse?limit=": 400, "/v1/posts/p/reuse?limit=x": 400, "/v1/posts/p/reuse?limit=-1": 400, "/v1/posts/p/reuse?limit=1001": 400,
		"/v1/texts/xyz": 400, "/v1/texts/" + group.String() + "?limit=1e3": 400, "/v1/texts/" + group.String(): 404,
		"/v1/authors/a/reuse?limit=101": 400,
	} {
		if detail(t, serve(h, "GET", target, ""), status) == "" {
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
func (a away) Author(context.Context, string, string, int) ([]lookup.RepeatedBy, error) {
	return nil, a.err
}

func TestStoreAway(t *testing.T) {
	_, h := mustIndex(t, away{memory(), fmt.Errorf("redis: %w: secret", lookup.ErrUnavailable)})
	for _, target := range []string{"/v1/posts/p/reuse", "/v1/texts/" + group.String(), "/v1/authors/a/reuse"} {
		w := serve(h, "GET", target, "")
		if got := detail(t, w, 503); strings.Contains(got, "secret") || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %q, Retry-After %q", target, got, w.Header().Get("Retry-After"))
		}
	}
	_, h = mustIndex(t, away{memory(), fmt.Errorf("read: %w", lookup.ErrRewound)})
	detail(t, serve(h, "GET", "/v1/posts/p/reuse", ""), 500)
}

// TestIncompleteIndex: whatever is asked, were it understood or not.
func TestIncompleteIndex(t *testing.T) {
	x, h := mustIndex(t, memory())
	x.Incomplete(true)
	for _, target := range []string{"/v1/posts/p/reuse", "/v1/posts/p/reuse?limit=x", "/v1/texts/xyz", "/v1/authors/a/reuse"} {
		w := serve(h, "GET", target, "")
		if got := detail(t, w, 503); !strings.Contains(got, "made again") || w.Header().Get("Retry-After") != "5" {
			t.Errorf("%s: %q, Retry-After %q", target, got, w.Header().Get("Retry-After"))
		}
	}
	x.Incomplete(false)
	if w := serve(h, "GET", "/v1/posts/p/reuse", ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestNoIndex(t *testing.T) {
	cfg := config()
	cfg.Index = nil
	h := mustNew(t, cfg)
	for _, target := range []string{"/v1/posts/p/reuse?limit=x", "/v1/texts/xyz", "/v1/authors/a/reuse"} {
		if got := detail(t, serve(h, "GET", target, ""), 404); got != "This server keeps no index: lookup.store is none." {
			t.Errorf("%s: %q", target, got)
		}
	}
}

package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"refrain/api"
	"refrain/feed"
)

// matcher answers with what it was made with, and remembers the question.
type matcher struct {
	query   api.Query
	found   []api.Sentence
	missing []int
	err     error
}

func (m *matcher) Match(_ context.Context, q api.Query) (api.Found, error) {
	m.query = q
	return api.Found{Sentences: m.found, Missing: m.missing}, m.err
}

func TestMatch(t *testing.T) {
	at := feed.Time(1767323045000)
	m := &matcher{found: []api.Sentence{
		{Index: 0, Start: 0, End: 3, Compared: false},
		{Index: 1, Start: 4, End: 10, Compared: true, Matches: []feed.Match{{
			Scheme: "near", Jaccard: 0.875, Occurrences: 3, Earlier: feed.Occurrence{Post: "p1", Text: "<b>", Time: at},
		}}},
	}}
	cfg := config()
	cfg.Matcher = m
	h := mustNew(t, cfg)
	w := serve(h, "POST", "/v1/match", `{"text":"Hi. <b>bold","lang":"en","threshold":0.8750}`)
	if want := (api.Query{Text: "Hi. <b>bold", Lang: "en", Threshold: "0.8750", Limit: 10_000}); m.query != want {
		t.Errorf("asked %+v, want %+v: a number keeps its digits", m.query, want)
	}
	var got struct {
		Sentences []struct {
			Sentence, Start, End int
			Text                 string
			Compared             bool
			Matches              []struct {
				Jaccard float64
				Earlier struct{ Post, Text string }
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if len(got.Sentences) != 2 || got.Sentences[0].Matches == nil || got.Sentences[1].Text != "<b>bol" {
		t.Fatalf("answer %s", w.Body)
	}
	if found := got.Sentences[1].Matches[0]; found.Jaccard != 0.875 || found.Earlier.Post != "p1" ||
		found.Earlier.Text != "<b>" {
		t.Errorf("match %+v", found)
	}

	if strings.Contains(w.Body.String(), "partial") {
		t.Errorf("a whole answer says that it is not: %s", w.Body)
	}
	m.missing = []int{2, 5}
	if w := serve(h, "POST", "/v1/match", `{"text":"Hi. <b>bold"}`); !strings.HasSuffix(w.Body.String(), `"partial":true,"missingPartitions":[2,5]}`+"\n") {
		t.Errorf("an answer that is not whole: %s", w.Body)
	}
	m.missing = nil
	serve(h, "POST", "/v1/match", `{"text":"x","threshold":"4/5"}`)
	if m.query.Threshold != "4/5" {
		t.Errorf("threshold %q", m.query.Threshold)
	}
	for body, word := range map[string]string{
		``: "body", `{`: "body", `[]`: "body: JSON: want an object, not array",
		`{"text":1}`: "body: text: want a string, not number", `{}`: "text", `{"text":"a"} x`: "follows", `{"text":"a","treshold":1}`: "treshold",
		`{"text":"a","threshold":[1]}`: "threshold", `{"text":"a","threshold":null}`: "threshold", `{"text":7}`: "text",
	} {
		if got := detail(t, serve(h, "POST", "/v1/match", body), 400); !strings.Contains(got, word) {
			t.Errorf("%s: detail %q does not say %q", body, got, word)
		}
	}
	detail(t, serve(h, "POST", "/v1/match", `{"text":"`+strings.Repeat("x", 3<<20)+`"}`), 413)
	m.err = fmt.Errorf("threshold %q: %w", "2", api.ErrInput)
	detail(t, serve(h, "POST", "/v1/match", `{"text":"a"}`), 400)
	m.err = errors.New("secret")
	if got := detail(t, serve(h, "POST", "/v1/match", `{"text":"a"}`), 500); strings.Contains(got, "secret") {
		t.Errorf("an inner error is shown: %q", got)
	}
}

// waiting is a matcher whose windows are never free.
type waiting struct{}

func (waiting) Match(ctx context.Context, _ api.Query) (api.Found, error) {
	<-ctx.Done()
	return api.Found{}, fmt.Errorf("lock rows: %w", ctx.Err())
}

// TestMatchDoesNotWaitForEver: while the event topic takes nothing a turn has the windows. Who asks is told so, in time.
func TestMatchDoesNotWaitForEver(t *testing.T) {
	cfg := config()
	cfg.Matcher, cfg.Limits.MatchTimeout = waiting{}, 10*time.Millisecond
	w := httptest.NewRecorder()
	mustNew(t, cfg).ServeHTTP(w, httptest.NewRequest("POST", "http://127.0.0.1/v1/match", strings.NewReader(`{"text":"a"}`)))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "10" ||
		!strings.Contains(w.Body.String(), "urn:refrain:problem:match-held") {
		t.Errorf("got %d %s %s", w.Code, w.Header(), w.Body)
	}
}

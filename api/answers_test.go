package api

import (
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"refrain/feed"
	"refrain/internal/openapi"
	"refrain/internal/problem"
)

func (answering[T]) answers() reflect.Type { return reflect.TypeFor[T]() }

// TestAnswersEqualOpenAPI holds every answer in JSON to its schema: the same members with the same types, and those that
// may be left out. POST /v1/posts is held to it where it is answered, in ingest.
func TestAnswersEqualOpenAPI(t *testing.T) {
	d := openapi.Read(t)
	for _, r := range (&handlers{}).routes() {
		name := r.method + " " + r.path
		typed, isTyped := r.handler.(interface{ answers() reflect.Type })
		schema := d.Answer(strings.ToLower(r.method), r.path)
		if name == "POST /v1/posts" {
			continue
		}
		if isTyped != (schema != nil) {
			t.Errorf("%s: answers with a type: %v, and is described: %v", name, isTyped, schema != nil)
			continue
		}
		if !isTyped {
			continue
		}
		for _, line := range openapi.Diff(d.Shape(schema), openapi.Of(typed.answers())) {
			t.Errorf("%s %s", name, line)
		}
	}
}

// TestEventsEqualOpenAPI does the same for the lines of GET /v1/events.
func TestEventsEqualOpenAPI(t *testing.T) {
	d := openapi.Read(t)
	event := d.Components.Schemas["ReuseEvent"]
	match := feed.Match{Jaccard: 0.5, Coverage: 0.5}
	bare := match.AppendEvent(nil, "d")
	match.Measure, match.Similarity = "cosine", 0.75
	match.Later.Converted, match.Earlier.Converted = true, true
	match.Later.Link, match.Later.Meta, match.Later.TextCut, match.Earlier.TextCut = "https://x.com/1", "{}", true, true
	full := match.AppendEventOf(nil, &feed.Deployment{Name: "d", Schemas: "https://example.org/schemas/"})
	for _, line := range openapi.Diff(d.Shape(event), openapi.OfJSON(bare, full)) {
		t.Error(line)
	}
}

// TestProblemsEqualOpenAPI does the same for errors.
func TestProblemsEqualOpenAPI(t *testing.T) {
	d := openapi.Read(t)
	var samples [][]byte
	for _, p := range []problem.Problem{{Status: 400}, {Status: 400, Type: problem.Quota, Detail: "d", Instance: "/i"}} {
		w := httptest.NewRecorder()
		problem.Write(w, httptest.NewRequest("GET", "/", nil), p)
		samples = append(samples, w.Body.Bytes())
	}
	for _, line := range openapi.Diff(d.Shape(d.Components.Schemas["Problem"]), openapi.OfJSON(samples...)) {
		t.Error(line)
	}
}

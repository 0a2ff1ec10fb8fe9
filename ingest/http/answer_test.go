package http

import (
	"encoding/json"
	"reflect"
	"testing"

	"refrain/internal/openapi"
	"refrain/internal/quota"
)

// TestAnswerEqualsOpenAPI holds the answer of POST /v1/posts to its schema.
func TestAnswerEqualsOpenAPI(t *testing.T) {
	d := openapi.Read(t)
	for _, line := range openapi.Diff(d.Shape(d.Answer("post", "/v1/posts")), openapi.Of(reflect.TypeFor[answer]())) {
		t.Error(line)
	}
}

// TestPartialAnswerEqualsOpenAPI does the same for what a problem has besides: all of it where something was read of
// the body, none where nothing was.
func TestPartialAnswerEqualsOpenAPI(t *testing.T) {
	d := openapi.Read(t)
	full := answer{Omitted: 1, next: 1, Results: []result{
		{Line: 1, Status: "s"}, {Line: 2, ID: "i", Status: "s", Note: "n", Reason: "r"},
	}}
	var examples [][]byte
	for _, e := range []quota.Exceeded{{Kind: quota.KindToken}, {Kind: quota.KindSource}} {
		members, err := json.Marshal(withQuota(full.members(), &e))
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, members)
	}
	described := d.Shape(d.Components.Schemas["Unfinished"].AllOf[1])
	for _, line := range openapi.Diff(described, openapi.OfJSON(append(examples, []byte("{}"))...)) {
		t.Error(line)
	}
}

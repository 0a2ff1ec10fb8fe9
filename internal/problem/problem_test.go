package problem_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/internal/problem"
)

func write(t *testing.T, method string, p problem.Problem) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	problem.Write(w, httptest.NewRequest(method, "/v1/posts/a%2Fb?source=x", nil), p)
	return w.Result()
}

func members(t *testing.T, r *http.Response) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWriteFillsWhatIsLeftOut(t *testing.T) {
	r := write(t, "GET", problem.Problem{Status: 404})
	want := map[string]any{"type": "about:blank", "title": "Not Found", "status": 404.0, "instance": "/v1/posts/a%2Fb"}
	if diff := cmp.Diff(want, members(t, r)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if got := r.Header.Get("Content-Type"); got != problem.ContentType {
		t.Errorf("content type %q", got)
	}
}

func TestWriteKeepsStandardMembersOverExtra(t *testing.T) {
	r := write(t, "POST", problem.Problem{
		Type: problem.Quota, Status: 429, Instance: "/i", RetryAfter: 1500 * time.Millisecond,
		Extra: map[string]any{"status": "no", "detail": "no", "accepted": 3},
	})
	want := map[string]any{"type": "urn:refrain:problem:quota", "title": "Quota used up", "status": 429.0, "instance": "/i", "accepted": 3.0}
	if diff := cmp.Diff(want, members(t, r)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if got := r.Header.Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After %q, want 2: a fraction is rounded up", got)
	}
}

func TestWriteOnHeadHasNoBody(t *testing.T) {
	r := write(t, "HEAD", problem.Problem{Status: 500})
	if n, _ := r.Body.Read(make([]byte, 1)); n != 0 {
		t.Error("HEAD was answered with a body")
	}
}

func TestWriteSurvivesUnspeakableExtra(t *testing.T) {
	r := write(t, "GET", problem.Problem{Status: 500, Detail: "d", Extra: map[string]any{"f": func() {}}})
	if got := members(t, r)["detail"]; got != "d" {
		t.Errorf("detail %v, want d", got)
	}
}

package paths_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"refrain/internal/paths"
)

func mux() *paths.Mux {
	var m paths.Mux
	for _, pattern := range []string{
		"DELETE /v1/posts/{id}", "/v1/posts/{id}", "GET /v1/posts/{id}/reuse", "POST /v1/posts", "/v1/posts",
		"GET /v1/posts/latest", "GET /{$}", "/",
	} {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Pattern+" "+r.PathValue("id"))
		})
	}
	return &m
}

func TestPaths(t *testing.T) {
	for _, test := range []struct{ method, path, want string }{
		{"DELETE", "/v1/posts/1", "DELETE /v1/posts/{id} 1"},
		{"PATCH", "/v1/posts/1", "/v1/posts/{id} 1"},
		{"HEAD", "/v1/posts/1/reuse", "GET /v1/posts/{id}/reuse 1"},
		{"GET", "/v1/posts/latest", "GET /v1/posts/latest "},
		{"DELETE", "/v1/posts/latest", "DELETE /v1/posts/{id} latest"},
		{"POST", "/v1/posts", "POST /v1/posts "},
		{"PUT", "/v1/posts", "/v1/posts "},
		{"GET", "/", "GET /{$} "},
		{"POST", "/", "/ "},
		{"DELETE", "/v1/posts/", "/ "},
		{"DELETE", "/v1//posts/1", "/ "},
		{"GET", "/v1/posts/x/../1", "/ "},
		{"GET", "/v1/posts//reuse", "/ "},
		{"DELETE", "/v1/posts/%2F", "DELETE /v1/posts/{id} /"},
		{"GET", "/v1/posts/%2F/reuse", "GET /v1/posts/{id}/reuse /"},
		{"GET", "/v1/posts/%2F%2F/reuse", "GET /v1/posts/{id}/reuse //"},
		{"GET", "/v1/posts/../reuse", "GET /v1/posts/{id}/reuse .."},
		{"GET", "/v1/posts/%2E/reuse", "GET /v1/posts/{id}/reuse ."},
		{"DELETE", "/v1/posts/{id}", "DELETE /v1/posts/{id} {id}"},
		{"DELETE", "/v1/posts/a%20b+c%2525", "DELETE /v1/posts/{id} a b+c%25"},
	} {
		w := httptest.NewRecorder()
		mux().ServeHTTP(w, httptest.NewRequest(test.method, test.path, nil))
		if got := w.Body.String(); got != test.want {
			t.Errorf("%s %s: %q, want %q", test.method, test.path, got, test.want)
		}
	}
}

// FuzzNames: whatever a name is, escaped it is one part of a path, and comes out as it was.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"/", ".", "..", "a/b", "%2F", "\x00", "a b", "{$}", "*", "?x=1", "#", "é", "reuse", ";"} {
		f.Add(name)
	}
	m := mux()
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" {
			t.Skip("no name")
		}
		r := httptest.NewRequest("GET", "/", nil)
		var err error
		if r.URL, err = url.ParseRequestURI("/v1/posts/" + url.PathEscape(name) + "/reuse"); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		if m.ServeHTTP(w, r); w.Body.String() != "GET /v1/posts/{id}/reuse "+name {
			t.Errorf("%q: got %q", name, w.Body)
		}
	})
}

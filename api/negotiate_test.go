package api_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ask makes a request with headers, in pairs.
func ask(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestContentTypes: what is called something else than JSON is not taken for JSON.
func TestContentTypes(t *testing.T) {
	h := mustNew(t, config())
	for _, target := range []string{"/v1/match", "/v1/posts"} {
		for kind, want := range map[string]int{
			"application/json": 200, "application/json; charset=utf-8": 200, "": 200, "application/x-www-form-urlencoded": 200,
			"application/xml": 415, "text/plain;charset=UTF-8": 415, "application/json; charset=utf-16": 415, "multipart/form-data": 415,
		} {
			w := ask(h, "POST", target, `{"text":"a"}`, "Content-Type", kind)
			if w.Code != want {
				t.Errorf("%s as %q: %d, want %d", target, kind, w.Code, want)
			}
			if want == 415 {
				detail(t, w, 415)
				if got := w.Header().Get("Accept"); !strings.HasPrefix(got, "application/json") {
					t.Errorf("%s as %q: Accept %q", target, kind, got)
				}
			}
		}
	}
	if w := ask(h, "POST", "/v1/match", `{"text":"a"}`, "Content-Type", "application/x-ndjson"); w.Code != 415 {
		t.Errorf("lines to /v1/match: %d", w.Code)
	}
}

func TestNotAcceptable(t *testing.T) {
	h := mustNew(t, config())
	for target, kind := range map[string]string{
		"/v1/webhooks": "application/json", "/v1/explain?a=a&b=b": "application/json", "/openapi.yaml": "application/yaml",
		"/asyncapi.yaml": "application/yaml", "/schemas/dev.refrain.reuse.v1.json": "application/schema+json", "/": "text/html",
	} {
		detail(t, ask(h, "GET", target, "", "Accept", "image/png, "+kind+";q=0"), 406)
		for _, accept := range []string{kind, "*/*", "image/png, */*;q=0.1", ""} {
			if w := ask(h, "GET", target, "", "Accept", accept); w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) {
				t.Errorf("%s with Accept %q: %d %s", target, accept, w.Code, w.Header().Get("Content-Type"))
			}
		}
	}
	if w := ask(h, "GET", "/livez", "", "Accept", "image/png"); w.Code != 200 {
		t.Errorf("health asks what a probe accepts: %d", w.Code)
	}
}

// TestTypesEqualOpenAPI: each type that is described is taken, and given to who accepts no other.
func TestTypesEqualOpenAPI(t *testing.T) {
	var d struct {
		Paths map[string]map[string]struct {
			RequestBody struct{ Content map[string]any } `yaml:"requestBody"`
			Responses   map[string]struct{ Content map[string]any }
		}
	}
	_, raw := served(t)
	if err := yaml.Unmarshal([]byte(raw), &d); err != nil {
		t.Fatal(err)
	}
	h := mustNew(t, config())
	for path, methods := range d.Paths {
		target := strings.NewReplacer("{id}", "7", "{file}", "dev.refrain.reuse.v1.json").Replace(path)
		for method, op := range methods {
			for kind := range op.RequestBody.Content {
				if w := ask(h, strings.ToUpper(method), target, `{"text":""}`, "Content-Type", kind); w.Code == 415 {
					t.Errorf("%s %s does not take %s", method, path, kind)
				}
			}
			for kind := range op.Responses["200"].Content {
				if w := ask(h, strings.ToUpper(method), target, `{"text":""}`, "Accept", kind); w.Code == 406 {
					t.Errorf("%s %s does not give %s", method, path, kind)
				}
			}
			if _, described := op.Responses["406"]; described && path != "/v1/events" {
				if w := ask(h, strings.ToUpper(method), target, `{"text":""}`, "Accept", "image/png"); w.Code != 406 {
					t.Errorf("%s %s gives an image: %d", method, path, w.Code)
				}
			}
		}
	}
}

// TestOtherOrigins: a page of another site may ask where the configuration names it, and nowhere else.
func TestOtherOrigins(t *testing.T) {
	const app = "https://app.example.org"
	cfg := config()
	cfg.Origins = []string{app}
	h := mustNew(t, cfg)
	w := ask(h, "GET", "/v1/models", "", "Origin", app, "Sec-Fetch-Site", "cross-site")
	if w.Code != 200 || w.Header().Get("Access-Control-Allow-Origin") != app || w.Header().Get("Vary") != "Origin" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	w = ask(h, "OPTIONS", "/v1/posts", "", "Origin", app, "Sec-Fetch-Site", "cross-site", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,content-type")
	if w.Code != 204 || !strings.Contains(w.Header().Get("Access-Control-Allow-Methods"), "POST") ||
		!strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	if got := w.Header().Get("Access-Control-Allow-Credentials"); got != "" {
		t.Errorf("credentials: %q", got)
	}
	for _, origin := range []string{"https://evil.example.org", app + ".evil.org", "null", "http://app.example.org"} {
		for _, method := range []string{"GET", "OPTIONS"} {
			w := ask(h, method, "/v1/models", "", "Origin", origin, "Sec-Fetch-Site", "cross-site", "Access-Control-Request-Method", "GET")
			if w.Code != 403 || w.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s of %s: %d %v", method, origin, w.Code, w.Header())
			}
		}
	}
	w = ask(mustNew(t, config()), "GET", "/v1/models", "", "Origin", app, "Sec-Fetch-Site", "cross-site")
	if w.Code != 403 || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("without origins: %d %v", w.Code, w.Header())
	}
	w = ask(h, "OPTIONS", "/v1/models", "")
	detail(t, w, 405)
}

// TestNamesThatNoPostHas are refused alike, whatever is asked about them.
func TestNamesThatNoPostHas(t *testing.T) {
	h, long := mustNew(t, config()), strings.Repeat("x", 1025)
	for _, target := range []string{
		"/v1/posts/7/reuse?source=" + long, "/v1/posts/" + long + "/reuse", "/v1/authors/" + long + "/reuse",
		"/v1/authors/a/reuse?source=" + long, "/v1/posts/%FF/reuse", "/v1/authors/a/reuse?source=%FF",
	} {
		detail(t, serve(h, "GET", target, ""), 400)
	}
}

// TestEntityTags: who has an answer already is told so, and gets the next one when it has changed.
func TestEntityTags(t *testing.T) {
	h := mustNew(t, config())
	for _, target := range []string{"/v1/posts/7/reuse", "/v1/authors/a/reuse", "/schemas/dev.refrain.reuse.v1.json", "/openapi.yaml"} {
		first := ask(h, "GET", target, "")
		tag := first.Header().Get("ETag")
		if first.Code != 200 || tag == "" || first.Header().Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: %d %v", target, first.Code, first.Header())
		}
		for _, known := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
			if w := ask(h, "GET", target, "", "If-None-Match", known); w.Code != 304 || w.Body.Len() != 0 || w.Header().Get("ETag") != tag {
				t.Errorf("%s, If-None-Match %s: %d %s", target, known, w.Code, w.Body)
			}
		}
		if w := ask(h, "GET", target, "", "If-None-Match", `"x"`); w.Code != 200 || w.Body.String() != first.Body.String() {
			t.Errorf("%s with another tag: %d", target, w.Code)
		}
	}
	a, b := ask(h, "GET", "/v1/posts/7/reuse", ""), ask(h, "GET", "/v1/posts/8/reuse", "")
	if a.Header().Get("ETag") == b.Header().Get("ETag") {
		t.Error("two answers have one tag")
	}
}

package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"refrain/api"
)

// statusOf sends a request with a header, and returns the status.
func statusOf(h http.Handler, method, target, host, header, value string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(`{"text":"a"}`))
	r.Host = host
	if header != "" {
		r.Header.Set(header, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestTokensAndScopes(t *testing.T) {
	cfg := config()
	cfg.Access = api.Tokens([]api.Token{
		{Name: "reader", Token: "r", Scopes: []api.Scope{api.Read}},
		{Name: "feeder", Token: "w", Scopes: []api.Scope{api.Write}},
		{Name: "both", Token: "rw", Scopes: []api.Scope{api.Read, api.Write}},
		{Name: "root", Token: "a", Scopes: []api.Scope{api.Admin}},
	})
	h := mustNew(t, cfg)
	for _, test := range []struct {
		method, target string
		allowed        string // tokens, of those below
	}{
		{"GET", "/v1/events", "r rw a"}, {"POST", "/v1/match", "r rw a"}, {"GET", "/metrics", "r rw a"}, {"GET", "/", "r rw a"},
		{"POST", "/v1/posts", "w rw a"}, {"DELETE", "/v1/posts/1", "w rw a"}, {"DELETE", "/v1/authors/1", "w rw a"},
		{"GET", "/v1/posts/1/reuse", "r rw a"}, {"GET", "/v1/texts/0", "r rw a"}, {"GET", "/v1/authors/ann/reuse", "r rw a"},
		{"GET", "/v1/webhooks", "a"}, {"GET", "/v1/models", "r rw a"},
		{"GET", "/livez", "r w rw a x none"}, {"GET", "/readyz", "r w rw a x none"}, {"GET", "/openapi.yaml", "r w rw a x none"},
	} {
		for _, token := range []string{"r", "w", "rw", "a", "x", "none"} {
			header := "Bearer " + token
			if token == "none" {
				header = ""
			}
			w := statusOf(h, test.method, test.target, "refrain.example", "Authorization", header)
			allowed := strings.Contains(" "+test.allowed+" ", " "+token+" ")
			refused := w.Code == http.StatusForbidden || w.Code == http.StatusUnauthorized
			if known := token != "x" && token != "none"; allowed == refused || !allowed && known != (w.Code == http.StatusForbidden) {
				t.Errorf("%s %s with token %s: status %d", test.method, test.target, token, w.Code)
			}
			if (w.Code == http.StatusUnauthorized) != (len(w.Header().Values("WWW-Authenticate")) == 2) {
				t.Errorf("%s %s with token %s: status %d, challenges %q", test.method, test.target, token, w.Code,
					w.Header()["Www-Authenticate"])
			}
		}
	}
}

// A browser asks its user for a name and a password: the token is the password.
func TestTokenAsPassword(t *testing.T) {
	cfg := config()
	cfg.Access = api.Tokens([]api.Token{{Name: "reader", Token: "r", Scopes: []api.Scope{api.Read}}})
	r := httptest.NewRequest("GET", "/metrics", nil)
	for password, want := range map[string]int{"r": http.StatusOK, "": http.StatusUnauthorized} {
		r.SetBasicAuth("anybody", password)
		w := httptest.NewRecorder()
		mustNew(t, cfg).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("password %q: status %d, want %d", password, w.Code, want)
		}
	}
}

func TestLoopbackOnly(t *testing.T) {
	cfg := config()
	cfg.Access = api.LoopbackOnly()
	h := mustNew(t, cfg)
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "localhost:8080": 200, "LOCALHOST": 200, "[::1]:8080": 200, "127.1.2.3": 200, "app.localhost": 200,
		"evil.example:8080": 403, "192.168.1.7:8080": 403, "": 403, "localhost.evil.example": 403,
	} {
		if w := statusOf(h, "GET", "/metrics", host, "", ""); w.Code != want {
			t.Errorf("host %q: status %d, want %d", host, w.Code, want)
		}
	}
}

// A page of another site may make a browser send a request, but not have it done.
func TestOtherSitesAreRefused(t *testing.T) {
	h := mustNew(t, config())
	for origin, want := range map[string]int{"https://evil.example": 403, "http://127.0.0.1:8080": 200, "": 200} {
		if w := statusOf(h, "POST", "/v1/match", "127.0.0.1:8080", "Origin", origin); w.Code != want {
			t.Errorf("origin %q: status %d, want %d: %s", origin, w.Code, want, w.Body)
		}
	}
}

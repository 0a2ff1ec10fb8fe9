package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/api"
)

// needs is what every route of the description asks for: "" nothing.
var needs = map[string]string{
	"POST /v1/posts": "write", "DELETE /v1/posts/{id}": "write", "DELETE /v1/authors/{author}": "write",
	"GET /v1/posts/{id}/reuse": "read", "GET /v1/texts/{group}": "read", "GET /v1/authors/{author}/reuse": "read",
	"GET /v1/events": "read", "POST /v1/match": "read", "GET /v1/explain": "read", "GET /v1/models": "read",
	"GET /metrics": "read", "GET /": "read",
	"GET /v1/webhooks": "admin", "POST /v1/webhooks/{name}/enable": "admin", "GET /v1/webhooks/{name}/deliveries": "admin",
	"POST /v1/webhooks/{name}/pause": "admin", "POST /v1/webhooks/{name}/resume": "admin", "POST /v1/webhooks/{name}/test": "admin",
	"POST /v1/webhooks/{name}/replay": "admin", "POST /v1/models/learn": "admin",
	"POST /v1/models/{id}/use": "admin",
	"GET /livez":               "", "GET /readyz": "", "GET /openapi.yaml": "",
	"GET /asyncapi.yaml": "", "GET /schemas/{file}": "",
}

// identities are the tokens that there are, by what they are good for.
var identities = map[string]string{
	"read": "reader-secret-0123", "write": "writer-secret-0123", "admin": "admins-secret-0123", "all": "everyt-secret-0123",
}

func withTokens() api.Config {
	cfg := config()
	var tokens []api.Token
	for scope, secret := range identities {
		t := api.Token{Name: "the " + scope + " one", Token: secret, Scopes: []api.Scope{api.Scope(scope)}}
		if scope == "all" {
			t.Scopes = []api.Scope{api.Read, api.Write}
		}
		tokens = append(tokens, t)
	}
	cfg.Access = api.Tokens(tokens)
	return cfg
}

// presentations are headers that a secret can be given in: the right ones first, then those that give none.
func presentations(secret string) (right, wrong []string) {
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	return []string{"Bearer " + secret, "bearer " + secret, "BEARER  " + secret, basic("anybody:" + secret),
			basic(":" + secret)},
		[]string{
			"", "Bearer", "Bearer ", secret, "Token " + secret, "Bearer " + secret + "x", "Bearer " + secret[1:],
			"Bearer " + strings.ToUpper(secret),
			"Bearer " + strings.Repeat(secret, 50_000), "Bearer\t" + secret, "Bearer: " + secret, "Bearer \"" + secret + "\"",
			"Digest username=\"" + secret + "\"",
			"Bearer " + secret + "," + secret, "Bearer " + secret + "\x00", basic(secret), basic(secret + ":"),
			"Basic " + secret, "Basic !", "Bearer null",
		}
}

// TestWhoMayWhat: every route of the description, every identity, every way to present a token, right and wrong.
func TestWhoMayWhat(t *testing.T) {
	d, _ := served(t)
	h := mustNew(t, withTokens())
	for route := range needs {
		method, path, _ := strings.Cut(route, " ")
		if _, ok := d.Paths[path][strings.ToLower(method)]; !ok {
			t.Errorf("%s: not in the description", route)
		}
	}
	for path, methods := range d.Paths {
		for method := range methods {
			route := strings.ToUpper(method) + " " + path
			need, listed := needs[route]
			if !listed {
				t.Errorf("%s: not in the list of what routes need", route)
			}
			for scope, secret := range identities {
				allowed := need == "" || scope == need || scope == "admin" || scope == "all" && need != "admin"
				right, wrong := presentations(secret)
				for _, header := range right {
					wantAccess(t, h, route, header, map[bool]int{true: 0, false: http.StatusForbidden}[allowed])
				}
				for _, header := range wrong {
					wantAccess(t, h, route, header, map[bool]int{true: 0, false: http.StatusUnauthorized}[need == ""])
				}
			}
		}
	}
}

// TestElsewhereIsNoToken: a secret that stands anywhere but in the one header is none, on every route.
func TestElsewhereIsNoToken(t *testing.T) {
	h, secret := mustNew(t, withTokens()), identities["admin"]
	for route, need := range needs {
		method, path, _ := strings.Cut(route, " ")
		for where, put := range map[string]func(*http.Request){
			"query":       func(r *http.Request) { r.URL.RawQuery = "access_token=" + secret },
			"user of URL": func(r *http.Request) { r.URL.User = url.UserPassword("anybody", secret) },
			"cookie":      func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "Authorization", Value: secret}) },
			"other headers": func(r *http.Request) {
				r.Header.Set("X-Api-Key", secret)
				r.Header.Set("Proxy-Authorization", "Bearer "+secret)
			},
			"body":           func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("access_token=" + secret)) },
			"two headers":    func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer " + secret, "Bearer wrong"} },
			"two, the other": func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer wrong", "Bearer " + secret} },
			"two alike":      func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer " + secret, "Bearer " + secret} },
		} {
			r := httptest.NewRequest(method, strings.NewReplacer("{", "", "}", "").Replace(path), strings.NewReader(`{"text":"a"}`))
			put(r)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if (w.Code == http.StatusUnauthorized) != (need != "") || strings.Contains(w.Body.String(), secret) {
				t.Errorf("%s, %s: status %d: %s", route, where, w.Code, w.Body)
			}
		}
	}
}

// wantAccess wants a refusal with a status, or none: 0.
func wantAccess(t *testing.T, h http.Handler, route, header string, want int) {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	r := httptest.NewRequest(method, strings.NewReplacer("{", "", "}", "").Replace(path), strings.NewReader(`{"text":"a"}`))
	if header != "" {
		r.Header["Authorization"] = []string{header}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	refused := w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden
	if refused != (want != 0) || refused && w.Code != want {
		t.Errorf("%s with %q: status %d, want %d (0: not refused)", route, header, w.Code, want)
	}
	for _, secret := range identities {
		if strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s with %q: the answer has a secret", route, header)
		}
	}
}

// TestEveryAnswerIsForThisSite: no page elsewhere may read, frame or guess the type of any answer, errors included.
func TestEveryAnswerIsForThisSite(t *testing.T) {
	d, _ := served(t)
	var requests []string
	for path, methods := range d.Paths {
		for method := range methods {
			requests = append(requests, strings.ToUpper(method)+" "+strings.NewReplacer("{", "", "}", "").Replace(path))
		}
	}
	requests = append(requests, "GET /nothing", "PUT /v1/events", "GET /livez?x=1", "GET /v1/texts/0")
	for _, request := range requests {
		method, target, _ := strings.Cut(request, " ")
		for _, h := range []http.Handler{mustNew(t, config()), mustNew(t, withTokens())} {
			header := serve(h, method, target, `{"text":"a"}`).Header()
			if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cross-Origin-Resource-Policy") != "same-origin" ||
				!strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") ||
				!strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
				t.Errorf("%s: header %v", request, header)
			}
		}
	}
}

// TestBrowsersOfOtherSites: whether an <object> loads, a page could have told; a link may be followed.
func TestBrowsersOfOtherSites(t *testing.T) {
	h := mustNew(t, config())
	for _, test := range []struct {
		method, site, dest, origin string
		want                       int
	}{
		{"GET", "", "", "", 200}, {"GET", "none", "document", "", 200}, {"GET", "same-origin", "empty", "", 200},
		{"GET", "cross-site", "document", "", 200}, {"GET", "same-site", "document", "", 200},
		{"GET", "cross-site", "object", "", 403}, {"GET", "cross-site", "image", "", 403},
		{"GET", "cross-site", "iframe", "", 403},
		{"GET", "cross-site", "empty", "", 403}, {"GET", "cross-site", "script", "", 403}, {"GET", "same-site", "object", "", 403},
		{"GET", "cross-site", "", "", 403}, {"GET", "", "", "https://evil.example", 403}, {"GET", "", "", "null", 403},
		{"GET", "", "", "http://127.0.0.1:8080", 200}, {"HEAD", "cross-site", "object", "", 403},
		{"POST", "cross-site", "document", "", 403}, {"POST", "", "", "https://evil.example", 403},
		{"POST", "same-origin", "empty", "", 200},
	} {
		for _, target := range []string{"/v1/explain?a=x&b=y", "/v1/match", "/livez"} {
			if (test.method == "POST") != (target == "/v1/match") {
				continue
			}
			r := httptest.NewRequest(test.method, target, strings.NewReader(`{"text":"a"}`))
			r.Host = "127.0.0.1:8080"
			for name, value := range map[string]string{
				"Sec-Fetch-Site": test.site, "Sec-Fetch-Dest": test.dest, "Origin": test.origin,
			} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != test.want {
				t.Errorf("%+v %s: status %d", test, target, w.Code)
			}
		}
	}
}

// TestForwardedWithoutTokens: behind a proxy everybody comes from this machine.
func TestForwardedWithoutTokens(t *testing.T) {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via"} {
		cfg := config()
		cfg.Access = api.LoopbackOnly()
		w := statusOf(mustNew(t, cfg), "GET", "/metrics", "127.0.0.1:8080", name, "1.2.3.4")
		if got := detail(t, w, http.StatusForbidden); !strings.Contains(got, "auth.tokens") {
			t.Errorf("%s: %q does not say what to do", name, got)
		}
		if w := statusOf(mustNew(t, config()), "GET", "/metrics", "127.0.0.1:8080", name, "1.2.3.4"); w.Code != 200 {
			t.Errorf("%s where access is not by address: status %d", name, w.Code)
		}
	}
}

func TestNamesBesideLocalhost(t *testing.T) {
	cfg := config()
	cfg.Access = api.LoopbackOnly("refrain.test")
	h := mustNew(t, cfg)
	for host, want := range map[string]int{
		"refrain.test:8080": 200, "Refrain.Test": 200, "evil.refrain.test": 403, "localhost": 200, "evil.example": 403,
	} {
		if w := statusOf(h, "GET", "/metrics", host, "", ""); w.Code != want {
			t.Errorf("host %q: status %d, want %d", host, w.Code, want)
		}
	}
}

// TestQueriesAreReadWhole: what would be dropped in silence is an error that names it.
func TestQueriesAreReadWhole(t *testing.T) {
	h := mustNew(t, config())
	for query, part := range map[string]string{
		"from=start;until=now": "semicolon", "from=%zz": "%zz", "from=start&from=now": "more than once: from",
		"a=1&a=2": "Unknown query parameters: a",
	} {
		if got := detail(t, serve(h, "GET", "/v1/events?"+query, ""), 400); !strings.Contains(got, part) {
			t.Errorf("%s: %q does not say %q", query, got, part)
		}
	}
	long := serve(h, "GET", "/v1/events?"+strings.Repeat("a", 20_000)+"=1", "")
	if got := detail(t, long, 400); len(got) > 1000 {
		t.Errorf("the answer repeats %d bytes of the request", len(got))
	}
}

// TestRefusalsAreLogged: with the name of the token and never itself, at a level that one sees, not once for each guess.
func TestRefusalsAreLogged(t *testing.T) {
	var out bytes.Buffer
	cfg := withTokens()
	cfg.Logger = slog.New(slog.NewJSONHandler(&out, nil)) // info and above
	h := mustNew(t, cfg)
	statusOf(h, "POST", "/v1/posts", "h", "Authorization", "Bearer "+identities["read"])
	for i := range 500 {
		statusOf(h, "GET", "/metrics", "h", "Authorization", fmt.Sprint("Bearer guess-number-", i))
	}
	lines := strings.Count(out.String(), "\n")
	if lines < 1 || lines > 100 || !strings.Contains(out.String(), `"token":"the read one"`) ||
		!strings.Contains(out.String(), `"status":403`) {
		t.Errorf("%d lines: %.500s", lines, out.String())
	}
	if strings.Contains(out.String(), identities["read"]) || strings.Contains(out.String(), "guess-number") {
		t.Errorf("the log has what was presented: %s", out.String())
	}
}

// TestMatchesTakeTurns: as many look-ups as the limit allows, then 503, then again as many.
func TestMatchesTakeTurns(t *testing.T) {
	cfg := config()
	m := &slowMatcher{began: make(chan bool), end: make(chan bool)}
	cfg.Matcher, cfg.Limits.Matches, cfg.Limits.Patience = m, 3, time.Millisecond
	h := mustNew(t, cfg)
	answers := make(chan int)
	for range 3 {
		go func() { answers <- serve(h, "POST", "/v1/match", `{"text":"a"}`).Code }()
		<-m.began
	}
	for method, target := range map[string]string{"POST": "/v1/match", "GET": "/v1/explain?a=x&b=y"} {
		w := serve(h, method, target, `{"text":"a"}`)
		detail(t, w, http.StatusServiceUnavailable)
		if w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "limits.matches") {
			t.Errorf("%s: %v %s", target, w.Header(), w.Body)
		}
	}
	close(m.end)
	for range 3 {
		if code := <-answers; code != 200 {
			t.Errorf("status %d", code)
		}
	}
	if w := serve(h, "GET", "/v1/explain?a=x&b=y", ""); w.Code != 200 {
		t.Errorf("afterwards: status %d", w.Code)
	}
}

type slowMatcher struct{ began, end chan bool }

func (m *slowMatcher) Match(context.Context, api.Query) (api.Found, error) {
	m.began <- true
	<-m.end
	return api.Found{}, nil
}

// TestSpareConnections: only health is answered there.
func TestSpareConnections(t *testing.T) {
	cfg := config()
	cfg.Crowded = func(*http.Request) bool { return true }
	h := mustNew(t, cfg)
	d, _ := served(t)
	for path, methods := range d.Paths {
		for method := range methods {
			w := serve(h, strings.ToUpper(method), strings.NewReplacer("{", "", "}", "").Replace(path), `{"text":"a"}`)
			health := slices.Contains([]string{"/livez", "/readyz", "/metrics"}, path)
			if (w.Code == http.StatusOK) != health || !health &&
				(w.Header().Get("Connection") != "close" || w.Header().Get("Retry-After") == "") {
				t.Errorf("%s %s: status %d, %v", method, path, w.Code, w.Header())
			}
		}
	}
}

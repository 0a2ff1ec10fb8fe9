package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"refrain/api"
	"refrain/internal/explain"
	"refrain/topic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func echo(what string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, what, " ", r.Method, " ", r.URL.RequestURI())
	})
}

// config is an API of which everything works.
func config() api.Config {
	yes := func(context.Context) error { return nil }
	return api.Config{
		Posts: echo("posts"), Events: echo("events"), Metrics: echo("metrics"), Matcher: &matcher{},
		Recent: api.NewTail(topic.NewMemory(topic.DefaultMemory()), 5),
		Index:  newIndex(memory()), Webhooks: new(hooks), Models: new(learners),
		Explain: func(_ context.Context, a, b string) (explain.Explanation, error) {
			return explain.Explanation{Threshold: a, Model: b}, nil
		},
		Limits: api.DefaultLimits(),
		Live:   yes, Ready: func(context.Context) []api.Condition { return nil }, Logger: slog.New(slog.DiscardHandler),
	}
}

func mustNew(t *testing.T, cfg api.Config) http.Handler {
	t.Helper()
	h, err := api.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func serve(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}

// detail reads a problem document.
func detail(t *testing.T, w *httptest.ResponseRecorder, status int) string {
	t.Helper()
	if w.Code != status || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("status %d, %s: %s; want a problem with status %d", w.Code, w.Header().Get("Content-Type"), w.Body, status)
	}
	var p struct{ Detail string }
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Errorf("%v in %s", err, w.Body)
	}
	return p.Detail
}

func TestUnknownPathMethodAndParameter(t *testing.T) {
	h := mustNew(t, config())
	detail(t, serve(h, "GET", "/v2/posts", ""), 404)
	detail(t, serve(h, "GET", "/index.html", ""), 404)
	w := serve(h, "PUT", "/v1/events", "")
	detail(t, w, 405)
	if got := w.Header().Get("Allow"); got != "GET, HEAD" {
		t.Errorf("Allow %q", got)
	}
	got := detail(t, serve(h, "GET", "/v1/events?form=start&untill=now&from=start", ""), 400)
	if want := "Unknown query parameters: form, untill. Known here: from, until, format."; got != want {
		t.Errorf("detail %q, want %q", got, want)
	}
	if got := detail(t, serve(h, "GET", "/livez?x", ""), 400); !strings.Contains(got, "x") {
		t.Errorf("detail %q", got)
	}
}

func TestHandlersAreMounted(t *testing.T) {
	h := mustNew(t, config())
	for target, want := range map[string]string{
		"POST /v1/posts?results=all":           "posts POST /v1/posts?results=all",
		"DELETE /v1/posts/at:%2F%2Fa?source=x": "posts DELETE /v1/posts/at:%2F%2Fa?source=x",
		"GET /v1/events?from=start":            "events GET /v1/events?from=start",
		"GET /metrics":                         "metrics GET /metrics",
		"GET /livez":                           "ok\n",
		"GET /readyz":                          "ok\n",
	} {
		method, path, _ := strings.Cut(target, " ")
		if w := serve(h, method, path, ""); w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d %q, want %q", target, w.Code, w.Body, want)
		}
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	_, err := api.New(api.Config{Posts: echo("")})
	for _, name := range []string{"Events", "Metrics", "Matcher", "Recent", "Explain", "Live", "Ready", "Logger"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v does not name %s", err, name)
		}
	}
}

func TestPanicBecomesAProblem(t *testing.T) {
	cfg := config()
	cfg.Events = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") })
	cfg.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		panic("oh")
	})
	h := mustNew(t, cfg)
	detail(t, serve(h, "GET", "/v1/events", ""), 500)
	defer func() {
		if cause := recover(); cause != http.ErrAbortHandler {
			t.Errorf("half an answer ends with %v, want the connection to be cut", cause)
		}
	}()
	serve(h, "GET", "/metrics", "")
}

package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/api"
	"refrain/internal/rotated"
	"refrain/publish"
	"refrain/publish/webhook"
)

// hooks are all webhooks but one. What happens to them is noted; some cannot do it.
type hooks struct{ done []string }

func (h *hooks) Status(*http.Request) []webhook.Status { return []webhook.Status{{Name: "desk"}} }

func (h *hooks) Remote(_ *http.Request, name string) http.Handler {
	if name != "away" {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
}

func (h *hooks) Find(name string) api.Webhook {
	if name == "other" {
		return nil
	}
	return hook{h, name}
}

// hook is one of them.
type hook struct {
	*hooks
	name string
}

func (h hook) note(what string) error {
	if h.name == "broken" {
		return errors.New("store is away")
	}
	h.done = append(h.done, what+" "+h.name)
	return nil
}

func (h hook) Enable(context.Context) error { return h.note("enable") }
func (h hook) Pause(context.Context) error  { return h.note("pause") }
func (h hook) Resume(context.Context) error { return h.note("resume") }

func (h hook) Test(context.Context) (webhook.Answer, error) {
	return webhook.Answer{ID: "1", Outcome: "failed", Status: 500, Body: "no"}, h.note("test")
}

func (h hook) Replay(_ context.Context, r webhook.Replay) (webhook.Replay, error) {
	switch h.name {
	case "busy":
		return r, fmt.Errorf("replay: %w", webhook.ErrReplaying)
	case "gone":
		return r, fmt.Errorf("replay: %w", &publish.ErrNotKept{Oldest: time.Unix(1_700_000_000, 0)})
	}
	return r, h.note("replay")
}

func (h hook) Deliveries(p webhook.Page) ([]webhook.Attempt, string, error) {
	if p.After == "rubbish" {
		return nil, "", fmt.Errorf("read: %w", rotated.ErrPlace)
	}
	return []webhook.Attempt{{Endpoint: h.name, Outcome: p.Outcome, Events: p.Limit}}, "further", nil
}

func TestWebhooks(t *testing.T) {
	cfg, h := config(), new(hooks)
	cfg.Webhooks = h
	web := mustNew(t, cfg)
	if w := serve(web, "GET", "/v1/webhooks", ""); w.Code != 200 ||
		!strings.Contains(w.Body.String(), `{"webhooks":[{"name":"desk",`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	var want []string
	for _, verb := range []string{"enable", "pause", "resume"} {
		if w := serve(web, "POST", "/v1/webhooks/desk/"+verb, ""); w.Code != 204 {
			t.Errorf("%s: status %d", verb, w.Code)
		}
		want = append(want, verb+" desk")
		detail(t, serve(web, "POST", "/v1/webhooks/broken/"+verb, ""), 500)
	}
	if !slices.Equal(h.done, want) {
		t.Errorf("done %q, want %q", h.done, want)
	}
	for _, path := range []string{"enable", "pause", "resume", "replay"} {
		if w := serve(web, "POST", "/v1/webhooks/away/"+path, ""); w.Code != http.StatusTeapot {
			t.Errorf("%s of one that runs elsewhere: status %d", path, w.Code)
		}
	}
	for _, path := range []string{"enable", "pause", "resume", "test", "replay"} {
		if got := detail(t, serve(web, "POST", "/v1/webhooks/other/"+path, ""), 404); !strings.Contains(got, `"other"`) {
			t.Errorf("%s: detail %q", path, got)
		}
	}
	if w := serve(web, "POST", "/v1/webhooks/desk/test", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"outcome":"failed","status":500`) {
		t.Errorf("test: status %d: %s", w.Code, w.Body)
	}
}

func TestDeliveriesOfAWebhook(t *testing.T) {
	cfg := config()
	cfg.Webhooks = new(hooks)
	web := mustNew(t, cfg)
	w := serve(web, "GET", "/v1/webhooks/desk/deliveries?limit=7&outcome=dead", "")
	if got := w.Body.String(); w.Code != 200 || !strings.Contains(got, `"events":7`) || !strings.Contains(got, `"outcome":"dead"`) ||
		!strings.Contains(got, `"next":"further"`) {
		t.Errorf("status %d: %s", w.Code, got)
	}
	for _, query := range []string{"limit=1001", "limit=x", "outcome=lost", "after=rubbish", "before=1"} {
		detail(t, serve(web, "GET", "/v1/webhooks/desk/deliveries?"+query, ""), 400)
	}
	detail(t, serve(web, "GET", "/v1/webhooks/other/deliveries", ""), 404)
}

func TestReplayToAWebhook(t *testing.T) {
	cfg := config()
	cfg.Webhooks = new(hooks)
	web := mustNew(t, cfg)
	const times = `{"from":"2026-01-02T03:04:05Z","to":"2026-01-03T00:00:00+02:00"}`
	replay := func(name, body string) *httptest.ResponseRecorder {
		return ask(web, http.MethodPost, "/v1/webhooks/"+name+"/replay", body, "Content-Type", "application/json")
	}
	if w := replay("desk", times); w.Code != 202 ||
		!strings.Contains(w.Body.String(), `{"from":"2026-01-02T03:04:05Z","to":"2026-01-02T22:00:00Z","deadLetters":false`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if w := replay("desk", `{"deadLetters":true}`); w.Code != 202 || !strings.Contains(w.Body.String(), `"deadLetters":true`) {
		t.Errorf("dead letters: status %d: %s", w.Code, w.Body)
	}
	for _, body := range []string{
		``, `{}`, `{"deadLetters":false}`, `{"to":"2026-01-02T03:04:05Z"}`, `{"from":"yesterday"}`, `{"from":1}`, times + `{}`,
		`{"from":"2026-01-02T03:04:05Z","to":"2026-01-02T03:04:05Z"}`, `{"from":"2999-01-02T03:04:05Z"}`, `{"from":"2026-01-02T03:04:05Z","all":true}`,
	} {
		detail(t, replay("desk", body), 400)
	}
	detail(t, replay("busy", times), 409)
	if w := replay("gone", times); w.Code != 410 || !strings.Contains(w.Body.String(), `"keptFrom":"2023-11-14T22:13:20Z"`) ||
		!strings.Contains(w.Body.String(), "urn:refrain:problem:events-gone") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

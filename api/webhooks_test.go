package api_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"refrain/api"
	"refrain/publish/webhook"
)

// hooks knows one webhook, which it may not be able to enable.
type hooks struct{ enabled []string }

func (h *hooks) Status() []webhook.Status { return []webhook.Status{{Name: "desk"}} }

func (h *hooks) Enable(_ context.Context, name string) error {
	switch name {
	case "broken":
		return errors.New("store is away")
	case "other":
		return fmt.Errorf("webhook %s: %w", name, api.ErrUnknown)
	}
	h.enabled = append(h.enabled, name)
	return nil
}

func TestWebhooks(t *testing.T) {
	cfg, h := config(), new(hooks)
	cfg.Webhooks = h
	web := mustNew(t, cfg)
	if w := serve(web, "GET", "/v1/webhooks", ""); w.Code != 200 ||
		!strings.Contains(w.Body.String(), `{"webhooks":[{"name":"desk",`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if w := serve(web, "POST", "/v1/webhooks/desk/enable", ""); w.Code != 204 || !slices.Equal(h.enabled, []string{"desk"}) {
		t.Errorf("status %d, enabled %q", w.Code, h.enabled)
	}
	if got := detail(t, serve(web, "POST", "/v1/webhooks/other/enable", ""), 404); !strings.Contains(got, `"other"`) {
		t.Errorf("detail %q", got)
	}
	detail(t, serve(web, "POST", "/v1/webhooks/broken/enable", ""), 500)
}

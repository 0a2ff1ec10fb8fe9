package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"refrain/api"
)

// TestHealthTellsPathsToAdminsOnly: what holds is everybody's to know, where on the disk is not.
func TestHealthTellsPathsToAdminsOnly(t *testing.T) {
	cfg := config()
	cfg.Access = api.Tokens([]api.Token{
		{Name: "reader", Token: "r", Scopes: []api.Scope{api.Read, api.Write}},
		{Name: "root", Token: "a", Scopes: []api.Scope{api.Admin}},
	})
	warning := api.Condition{Name: "source_down", Means: "A source is away.", Detail: "kafka at\n10.1.2.3", Warning: true}
	holds := []api.Condition{warning}
	cfg.Ready = func(context.Context) []api.Condition { return append([]api.Condition(nil), holds...) }
	cfg.Live = func(context.Context) error { return errors.New("/var/secret is full") }
	h := mustNew(t, cfg)
	get := func(path, token string) *httptest.ResponseRecorder {
		return statusOf(h, "GET", path, "refrain.example", "Authorization", "Bearer "+token)
	}
	for token, want := range map[string]string{
		"": "ok\nwarning: source_down: A source is away.\n", "r": "ok\nwarning: source_down: A source is away.\n",
		"a": "ok\nwarning: source_down: A source is away. kafka at 10.1.2.3\n",
	} {
		if w := get("/readyz", token); w.Code != 200 || w.Body.String() != want {
			t.Errorf("token %q: %d %q, want %q", token, w.Code, w.Body, want)
		}
	}
	holds = append(holds, api.Condition{Name: "storage", Means: "No room.", Detail: "/var/secret is full"})
	for token, knows := range map[string]bool{"": false, "r": false, "a": true} {
		for _, path := range []string{"/readyz", "/livez"} {
			w := get(path, token)
			if w.Code != 503 || strings.Contains(w.Body.String(), "/var/secret") != knows {
				t.Errorf("%s, token %q: %d %s", path, token, w.Code, w.Body)
			}
		}
		var answer struct {
			Detail     string          `json:"detail"`
			Conditions []api.Condition `json:"conditions"`
		}
		if err := json.Unmarshal(get("/readyz", token).Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Conditions) != 2 || answer.Detail != "No room." || answer.Conditions[1].Name != "storage" {
			t.Errorf("token %q: %+v", token, answer)
		}
	}
}

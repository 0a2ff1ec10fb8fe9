package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"refrain/api"
	"refrain/models"
)

// learners knows one model, 7, and a damaged one, 5, and is busy when told so.
type learners struct {
	busy     bool
	requests []string
}

func (l *learners) Status() models.Status { return models.Status{Current: 7} }

func (l *learners) Learn() error { return l.request("learn") }

func (l *learners) Use(id int) error {
	if id == 5 {
		return fmt.Errorf("%w: 5.model: checksum mismatch", api.ErrUnusable)
	}
	if id != 7 {
		return fmt.Errorf("model %d: %w", id, api.ErrUnknown)
	}
	return l.request("use 7")
}

func (l *learners) request(what string) error {
	if l.busy {
		return api.ErrBusy
	}
	l.requests = append(l.requests, what)
	return nil
}

func TestModels(t *testing.T) {
	cfg, l := config(), new(learners)
	cfg.Models = l
	web := mustNew(t, cfg)
	if w := serve(web, "GET", "/v1/models", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `{"current":7,`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	for _, test := range []struct {
		path string
		want int
	}{{"learn", 202}, {"7/use", 202}, {"4/use", 404}, {"x/use", 404}, {"-7/use", 404}} {
		if w := serve(web, "POST", "/v1/models/"+test.path, ""); w.Code != test.want {
			t.Errorf("POST %s: status %d, want %d", test.path, w.Code, test.want)
		}
	}
	if want := []string{"learn", "use 7"}; !slices.Equal(l.requests, want) {
		t.Errorf("asked for %q, want %q", l.requests, want)
	}
	if got, want := detail(t, serve(web, "POST", "/v1/models/5/use", ""), 422),
		"it cannot be used: 5.model: checksum mismatch"; !strings.Contains(got, want) {
		t.Errorf("detail %q, want %q", got, want)
	}
	l.busy = true
	detail(t, serve(web, "POST", "/v1/models/learn", ""), 409)
	detail(t, serve(web, "POST", "/v1/models/7/use", ""), 409)
}

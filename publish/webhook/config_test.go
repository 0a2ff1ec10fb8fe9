package webhook_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"refrain/publish/webhook"
	"refrain/text"
	"refrain/topic"
)

func threshold(t *testing.T, s string) text.Threshold {
	t.Helper()
	th, err := text.ParseThreshold(s)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func TestNewReports(t *testing.T) {
	tests := map[string]struct {
		spoil func(*webhook.Config)
		want  string
	}{
		"no name":   {func(c *webhook.Config) { c.Name = "" }, "name: want letters"},
		"path":      {func(c *webhook.Config) { c.Name = "a/b" }, "name: want letters"},
		"dots":      {func(c *webhook.Config) { c.Name = "a..b" }, "name: want letters"},
		"no url":    {func(c *webhook.Config) { c.URL = "" }, "url: want https://HOST/PATH"},
		"scheme":    {func(c *webhook.Config) { c.URL = "file:///etc/passwd" }, "url: want https"},
		"bad url":   {func(c *webhook.Config) { c.URL = "https://user:hidden@host:port/" }, "url: not a URL"},
		"no secret": {func(c *webhook.Config) { c.Secrets = nil }, "secrets: want at least one"},
		"prefix":    {func(c *webhook.Config) { c.Secrets[0] = "hidden" }, "secret 1: want whsec_"},
		"base64":    {func(c *webhook.Config) { c.Secrets[1] = "whsec_hidden!" }, "secret 2: what follows"},
		"short":     {func(c *webhook.Config) { c.Secrets[0] = "whsec_aGlkZGVu" }, "secret 1: 6 bytes, want 24 to 64"},
		"header": {func(c *webhook.Config) { c.Headers = map[string]string{"a b": "hidden"} },
			`header "a b": not a header's name`},
		"our header":    {func(c *webhook.Config) { c.Headers = map[string]string{"Webhook-ID": "1"} }, "set by delivery itself"},
		"header value":  {func(c *webhook.Config) { c.Headers = map[string]string{"X": "hidden\r\nY: 1"} }, "its value has"},
		"batch":         {func(c *webhook.Config) { c.Batch = 101 }, "batch: 101 events"},
		"negative time": {func(c *webhook.Config) { c.Retries = []time.Duration{-1} }, "retries: -1ns, want a time above 0"},
		"negative":      {func(c *webhook.Config) { c.Pending = -1 }, "pending: -1, want 1 or more"},
		"event type":    {func(c *webhook.Config) { c.Filter.Types = []string{"reuse"} }, `event type "reuse": want dev.refrain.reuse.v1 or`},
		"no retries":    {func(c *webhook.Config) { c.Retries = nil }, "retries: 0, want 1 or more"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			test.spoil(&r.cfg)
			_, err := webhook.New(r.cfg, r.deps)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("got %v, want %q and no secret", err, test.want)
			}
		})
	}
	_, err := webhook.New(webhook.Config{}, webhook.Deps{})
	for _, want := range []string{"topic", "logger", "name", "url", "secrets", "batch", "timeout"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not report the %s", err, want)
		}
	}
}

func TestDeliveryLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Retries = []time.Duration{time.Second}
		r.cfg.Headers = map[string]string{"Authorization": "Bearer hidden"}
		r.recv.answer = statuses(has("bad"), 500)
		r.append(events("bad")...)
		r.start()
		wait(time.Minute)
		r.append(events("p")...)
		wait(time.Minute)
		status, err := json.Marshal(r.Status())
		if err != nil {
			t.Fatal(err)
		}
		r.end()
		var outcomes []string
		for line := range strings.Lines(r.log.String()) {
			var a struct {
				Time, Next                          time.Time
				Endpoint, WebhookID, Outcome, Place string
				Events, Attempt, Status             int
			}
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				t.Fatal(err)
			}
			if a.Endpoint != "desk" || len(a.WebhookID) != 32 || a.Events != 1 || a.Time.IsZero() || a.Place == "" {
				t.Errorf("line %s", line)
			}
			if (a.Outcome == "failed") != (a.Next.After(a.Time)) {
				t.Errorf("line %s: only what failed comes again", line)
			}
			outcomes = append(outcomes, a.Outcome)
		}
		if got := strings.Join(outcomes, " "); got != "failed dead delivered" {
			t.Errorf("outcomes %s", got)
		}
		for _, log := range []string{r.log.String(), r.slog.String(), string(status)} {
			if strings.Contains(log, "hidden") {
				t.Errorf("a credential in\n%s", log)
			}
		}
		if !strings.Contains(string(status), `"url":"https://***@hooks.example.org/reuse?***"`) &&
			!strings.Contains(string(status), "hooks.example.org/reuse") {
			t.Errorf("status %s", status)
		}
	})
}

func TestStoreThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		store := &unsteady{Store: r.deps.Store}
		r.deps.Store = store
		r.append(events("p")...)
		store.away.Store(true)
		r.start()
		wait(time.Minute)
		if len(r.recv.got()) != 0 {
			t.Error("deliveries although the store cannot tell whether the endpoint is disabled")
		}
		store.away.Store(false)
		wait(time.Minute)
		r.wantOnce("p")
		store.away.Store(true)
		r.append(events("q")...)
		wait(time.Minute)
		store.away.Store(false)
		wait(5 * time.Second)
		r.end()
		r.wantOnce("p", "q")
		if r.stored() != "1" {
			t.Errorf("cursor %q", r.stored())
		}
	})
}

var _ topic.Store = (*unsteady)(nil)

// unsteady is a store that is away for a while.
type unsteady struct {
	topic.Store
	away atomic.Bool
}

func (u *unsteady) Get(ctx context.Context, key string) ([]byte, error) {
	if u.away.Load() {
		return nil, io.ErrUnexpectedEOF
	}
	return u.Store.Get(ctx, key)
}

func (u *unsteady) Put(ctx context.Context, key string, value []byte) error {
	if u.away.Load() {
		return io.ErrUnexpectedEOF
	}
	return u.Store.Put(ctx, key, value)
}

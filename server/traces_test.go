package server_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// hook is a webhook's endpoint.
type hook chan http.Header

func (h hook) ServeHTTP(_ http.ResponseWriter, r *http.Request) { h <- r.Header }

// TestTracesOfAServer: a server that only sends itself canaries exports no span, and a post's trace goes through to a
// webhook, with the tracestate of who began it.
func TestTracesOfAServer(t *testing.T) {
	spans := e2e.NewCollector(t)
	delivered := make(hook, 10)
	endpoint := httptest.NewServer(delivered)
	defer endpoint.Close()
	p := e2e.New(t, append(spans.Settings(), e2e.WithYAML(t, fmt.Sprintf(`
canary: {every: 1s}
publish:
  webhooks:
    - {name: desk, url: %q, secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwSwAAAAAAAA], allow_private: true}
`, endpoint.URL)))...)
	p.Start()
	p.Await(20*time.Second, "canaries of three seconds", func() bool { return p.Counters()["refrain_server_canaries_total"] >= 12 })
	const trace, state = "4bf92f3577b34da6a3ce929d0e0e4736", "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"
	post(t, p, "00-"+trace+"-00f067aa0ba902b7-01", state)
	h := <-delivered
	if got := h.Get("Traceparent"); len(got) != 55 || got[3:35] != trace || h.Get("Tracestate") != state {
		t.Errorf("the webhook got traceparent %q, tracestate %q", got, h.Get("Tracestate"))
	}
	want := []string{"CLIENT POST", "INTERNAL split", "SERVER POST /v1/posts"}
	p.Await(20*time.Second, "spans of the post", func() bool { return len(spans.Of(trace, true)) >= len(want) && spans.Links(trace) > 0 })
	if got := e2e.SpanNames(spans.Of(trace, true)); !slices.Equal(got, want) {
		t.Errorf("spans of the post: %q, want %q", got, want)
	}
	if got := e2e.SpanNames(spans.Of(trace, false)); len(slices.Compact(slices.Clone(got))) != 1 || got[0] != "INTERNAL match" || len(got) > 4 {
		t.Errorf("spans of no post: %q", got) // the turns that looked it up: one of each worker, at most
	}
}

// post sends two posts of one sentence.
func post(t *testing.T, p *e2e.Process, parent, state string) {
	t.Helper()
	const text = "The mayor opened the new bridge over the river on Sunday morning."
	body := fmt.Appendf(nil, "{\"id\":\"1\",\"text\":%q}\n{\"id\":\"2\",\"text\":%q}\n", text, text)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL("/v1/posts"), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	r.Header.Set("traceparent", parent)
	r.Header.Set("tracestate", state)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
}

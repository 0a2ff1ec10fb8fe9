package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"refrain/internal/e2e"
)

// receiver is a collector of OTLP.
type receiver struct {
	mu    sync.Mutex
	spans []*tracepb.Span
}

func (c *receiver) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	b, _ := io.ReadAll(body)
	var m collectorpb.ExportTraceServiceRequest
	_ = proto.Unmarshal(b, &m) // what is none has no spans
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range m.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

// of are names and kinds of the spans of a trace so far, or of all others.
func (c *receiver) of(trace string, in bool) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if (hex.EncodeToString(s.TraceId) == trace) == in {
			names = append(names, strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_")+" "+s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// links are how many links to a trace there are.
func (c *receiver) links(trace string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		for _, l := range s.Links {
			if hex.EncodeToString(l.TraceId) == trace {
				n++
			}
		}
	}
	return n
}

// hook is a webhook's endpoint.
type hook chan http.Header

func (h hook) ServeHTTP(_ http.ResponseWriter, r *http.Request) { h <- r.Header }

// TestTracesOfAServer: a server that only sends itself canaries exports no span, and a post's trace goes through to a
// webhook, with the tracestate of who began it.
func TestTracesOfAServer(t *testing.T) {
	var spans receiver
	otlp := httptest.NewServer(&spans)
	defer otlp.Close()
	delivered := make(hook, 10)
	endpoint := httptest.NewServer(delivered)
	defer endpoint.Close()
	p := e2e.New(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+otlp.URL, "OTEL_BSP_SCHEDULE_DELAY=50", e2e.WithYAML(t, fmt.Sprintf(`
canary: {every: 1s}
publish:
  webhooks:
    - {name: desk, url: %q, secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwSwAAAAAAAA], allow_private: true}
`, endpoint.URL)))
	p.Start()
	p.Await(20*time.Second, "canaries of three seconds", func() bool { return p.Counters()["refrain_server_canaries_total"] >= 12 })
	const trace, state = "4bf92f3577b34da6a3ce929d0e0e4736", "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"
	post(t, p, "00-"+trace+"-00f067aa0ba902b7-01", state)
	h := <-delivered
	if got := h.Get("Traceparent"); len(got) != 55 || got[3:35] != trace || h.Get("Tracestate") != state {
		t.Errorf("the webhook got traceparent %q, tracestate %q", got, h.Get("Tracestate"))
	}
	want := []string{"CLIENT POST", "INTERNAL split", "SERVER POST /v1/posts"}
	p.Await(20*time.Second, "spans of the post", func() bool { return len(spans.of(trace, true)) >= len(want) && spans.links(trace) > 0 })
	if got := spans.of(trace, true); !slices.Equal(got, want) {
		t.Errorf("spans of the post: %q, want %q", got, want)
	}
	if got := spans.of(trace, false); len(slices.Compact(slices.Clone(got))) != 1 || got[0] != "INTERNAL match" || len(got) > 4 {
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

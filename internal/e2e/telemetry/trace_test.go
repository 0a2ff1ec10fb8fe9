package telemetry

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/internal/e2e"
)

const text = "The mayor opened the new bridge over the river on Sunday morning."

// client is one that sends a post in a trace of its own.
type client struct {
	trace, state string
	spans        []string // of its trace, in the server
}

// TestOneTraceThrough: what came by HTTP and what came by Kafka goes to Kafka, NATS and a webhook in the trace that its
// client began, with its tracestate. Each span of it has a parent that is one of the trace; the turn of the look-ups and the
// batch to Kafka are traces of their own, linked to it.
func TestOneTraceThrough(t *testing.T) {
	r := start(t)
	r.post(t, parentOf("11111111111111111111111111111111"), "", post("first"))
	http := client{"4bf92f3577b34da6a3ce929d0e0e4736", "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7",
		[]string{"CLIENT POST", "INTERNAL split", "SERVER POST /v1/posts"}}
	r.post(t, parentOf(http.trace), http.state, post("http"))
	r.holdDeliveries(t, http, "http")
	kafka := client{"0af7651916cd43dd8448eb211c80319c", "vendor=opaque",
		[]string{"CLIENT POST", "CONSUMER process " + r.in, "INTERNAL split"}}
	r.produce(t, parentOf(kafka.trace), kafka.state, post("kafka"))
	r.holdDeliveries(t, kafka, "kafka")
	events := r.fromKafka(t, 2)
	holdTrace(t, "Kafka", events[0], http, "http")
	holdTrace(t, "Kafka", events[1], kafka, "kafka")
}

// holdDeliveries looks at what came by NATS and to the webhook for a post, and at the spans.
func (r *rig) holdDeliveries(t *testing.T, c client, post string) {
	t.Helper()
	holdTrace(t, "NATS", r.fromNATS(t, 1)[0], c, post)
	holdTrace(t, "the webhook", r.fromWebhook(t, 1)[0], c, post)
	r.holdSpans(t, c)
}

const clientSpan = "00f067aa0ba902b7"

func parentOf(trace string) string { return "00-" + trace + "-" + clientSpan + "-01" }

func post(id string) []byte { return fmt.Appendf(nil, `{"id":%q,"text":%q}`, id, text) }

// holdTrace wants an event of a post in its client's trace.
func holdTrace(t *testing.T, way string, d delivery, c client, post string) {
	t.Helper()
	if !strings.Contains(d.body, fmt.Sprintf(`"later":{"source":"","post":%q`, post)) {
		t.Errorf("to %s: %s, want an event of %s", way, d.body, post)
	}
	if len(d.parent) != 55 || d.parent[3:35] != c.trace || d.state != c.state {
		t.Errorf("%s to %s: traceparent %q, tracestate %q; want %s, %q", post, way, d.parent, d.state, c.trace, c.state)
	}
}

// holdSpans waits for the spans of a trace, and the links to it of look-ups and of the batch to Kafka.
func (r *rig) holdSpans(t *testing.T, c client) {
	t.Helper()
	r.Await(20*time.Second, "spans of "+c.trace, func() bool { return len(r.spans.Of(c.trace, true)) >= len(c.spans) && r.spans.Links(c.trace) >= 2 })
	spans, ids := r.spans.Of(c.trace, true), map[string]bool{clientSpan: true}
	if got := e2e.SpanNames(spans); !slices.Equal(got, c.spans) {
		t.Errorf("spans %q, want %q", got, c.spans)
	}
	for _, s := range spans {
		ids[hex.EncodeToString(s.SpanId)] = true
	}
	for _, s := range spans {
		if !ids[hex.EncodeToString(s.ParentSpanId)] {
			t.Errorf("span %s has a parent that is not of the trace", s.Name)
		}
	}
}
